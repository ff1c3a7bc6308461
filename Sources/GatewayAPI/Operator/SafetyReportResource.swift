import JSON

/// An element of `GET /api/v1/operator/safety/report`.
public struct SafetyReportResource: Sendable, Equatable {
    /// 0 to 4.
    public var tier: Int
    /// nil for reminders, and for replaced sentences of turns without danger.
    public var category: String?
    /// ISO 3166-1; nil: unknown.
    public var jurisdiction: String?
    /// Turns in which crisis services were shown.
    public var referrals: Int
    /// Turns of which sentences were replaced.
    public var replaced: Int

    public init(tier: Int, category: String?, jurisdiction: String?, referrals: Int, replaced: Int) {
        self.tier = tier
        self.category = category
        self.jurisdiction = jurisdiction
        self.referrals = referrals
        self.replaced = replaced
    }
}

extension SafetyReportResource: WireResource {
    public static let schemaName = "SafetyReport"
    public static let fields: [Schema.Field] = [
        .init("tier", .integer(0...4)), .init("category", .text.nullable), .init("jurisdiction", .text.nullable),
        .init("referrals", .integer), .init("replaced", .integer),
    ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("tier", tier)
            writer.member("category", category)
            writer.member("jurisdiction", jurisdiction)
            writer.member("referrals", referrals)
            writer.member("replaced", replaced)
        }
    }
}
