import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An element of `GET /api/v1/operator/costs`. Keys that are not grouped by are nil.
public struct CostResource: Sendable, Equatable {
    /// The beginning of the hour, day or week.
    public var day: Timestamp?
    public var model: String?
    public var provider: String?
    public var domain: String?
    public var personaID: UUID?
    public var userID: UUID?
    public var tier: String?
    public var turns: Int
    public var inputTokens: Int?
    public var cachedInputTokens: Int?
    public var outputTokens: Int?
    /// US dollars; nil when no call has a price.
    public var cost: String?
    public var unpricedTurns: Int

    public init(
        day: Timestamp?, model: String?, provider: String?, domain: String?, personaID: UUID?, userID: UUID?, tier: String?, turns: Int,
        inputTokens: Int?, cachedInputTokens: Int?, outputTokens: Int?, cost: String?, unpricedTurns: Int
    ) {
        self.day = day
        self.model = model
        self.provider = provider
        self.domain = domain
        self.personaID = personaID
        self.userID = userID
        self.tier = tier
        self.turns = turns
        self.inputTokens = inputTokens
        self.cachedInputTokens = cachedInputTokens
        self.outputTokens = outputTokens
        self.cost = cost
        self.unpricedTurns = unpricedTurns
    }
}

extension CostResource: WireResource {
    public static let schemaName = "Cost"
    public static let fields: [Schema.Field] = [
        .init("day", .time.nullable), .init("model", .text.nullable), .init("provider", .text.nullable), .init("domain", .text.nullable),
        .init("persona_id", .id.nullable), .init("user_id", .id.nullable), .init("tier", .text.nullable), .init("turns", .integer),
        .init("input_tokens", .integer.nullable), .init("cached_input_tokens", .integer.nullable),
        .init("output_tokens", .integer.nullable), .init("cost_usd", .money.nullable), .init("unpriced_turns", .integer),
    ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("day", day)
            writer.member("model", model)
            writer.member("provider", provider)
            writer.member("domain", domain)
            writer.member("persona_id", personaID)
            writer.member("user_id", userID)
            writer.member("tier", tier)
            writer.member("turns", turns)
            writer.member("input_tokens", inputTokens)
            writer.member("cached_input_tokens", cachedInputTokens)
            writer.member("output_tokens", outputTokens)
            writer.member("cost_usd", cost)
            writer.member("unpriced_turns", unpricedTurns)
        }
    }
}
