import JSON

/// `GET /api/v1/me/usage`: messages of this day, calls of this month, both UTC.
public struct UsageResource: Sendable, Equatable {
    /// Such as `2026-03-01`.
    public var day: String
    public var messagesToday: Int
    /// Nil, as `resetsAt`, from a gateway of a release that did not send it.
    public var tier: String?
    /// Of the tier; nil does not limit.
    public var messagesPerDay: Int?
    public var messagesRemaining: Int?
    /// When `messagesToday` begins anew: the end of `day`.
    public var resetsAt: Timestamp?
    public var turns: Int
    /// With those read from and written to a cache, as in the event `usage`.
    public var inputTokens: Int
    public var cachedInputTokens: Int
    /// With those of reasoning, as in the event `usage`.
    public var outputTokens: Int
    /// US dollars, of the calls with a known price.
    public var cost: String
    public var unpricedCalls: Int

    public init(
        day: String, messagesToday: Int, tier: String?, messagesPerDay: Int?, messagesRemaining: Int?, resetsAt: Timestamp?, turns: Int,
        inputTokens: Int, cachedInputTokens: Int, outputTokens: Int, cost: String, unpricedCalls: Int
    ) {
        self.day = day
        self.messagesToday = messagesToday
        self.tier = tier
        self.messagesPerDay = messagesPerDay
        self.messagesRemaining = messagesRemaining
        self.resetsAt = resetsAt
        self.turns = turns
        self.inputTokens = inputTokens
        self.cachedInputTokens = cachedInputTokens
        self.outputTokens = outputTokens
        self.cost = cost
        self.unpricedCalls = unpricedCalls
    }
}

extension UsageResource: WireResource {
    public static let schemaName = "Usage"
    public static let fields: [Schema.Field] = [
        .init("day", .text), .init("messages_today", .integer), .init("tier", .text), .init("messages_per_day", .integer.nullable),
        .init("messages_remaining", .integer.nullable), .init("resets_at", .time),
        .init(
            "month",
            .object([
                .init("turns", .integer), .init("input_tokens", .integer), .init("cached_input_tokens", .integer),
                .init("output_tokens", .integer), .init("cost_usd", .money), .init("unpriced_calls", .integer),
            ])),
    ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("day", day)
            writer.member("messages_today", messagesToday)
            writer.member("tier", tier)
            writer.member("messages_per_day", messagesPerDay)
            writer.member("messages_remaining", messagesRemaining)
            writer.member("resets_at", resetsAt)
            writer.key(literal: "month")
            writer.object { writer in
                writer.member("turns", turns)
                writer.member("input_tokens", inputTokens)
                writer.member("cached_input_tokens", cachedInputTokens)
                writer.member("output_tokens", outputTokens)
                writer.member("cost_usd", cost)
                writer.member("unpriced_calls", unpricedCalls)
            }
        }
    }
}
