import JSON

/// An element of `GET /api/v1/operator/safety`. Counts under 5 are the string `<5`.
public struct SafetyCountResource: Sendable, Equatable {
    /// UTC, `2026-03-01`.
    public var day: String
    public var count: SafetyReportResource

    public init(day: String, count: SafetyReportResource) {
        self.day = day
        self.count = count
    }
}

extension SafetyCountResource: WireResource {
    public static let schemaName = "SafetyCount"
    public static let fields: [Schema.Field] =
        [.init("day", .text)] + SafetyReportResource.keys + [
            .init("referrals", count), .init("replaced", count),
        ]

    private static let count = Schema.any.described("an integer of 5 or more, or \"\(hidden)\"")
    fileprivate static let hidden = "<5"

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("day", day)
            count.writeMembers(to: &writer)
        }
    }
}

/// An element of `GET /api/v1/operator/safety/report`.
public struct SafetyReportResource: Sendable, Equatable {
    /// 0 to 4.
    public var tier: Int
    /// nil for reminders, and for replaced sentences of turns without danger.
    public var category: String?
    /// ISO 3166-1; nil: unknown.
    public var jurisdiction: String?
    /// Turns in which crisis services were shown; nil: fewer than five, in daily counts alone.
    public var referrals: Int?
    /// Turns of which sentences were replaced; nil: fewer than five, in daily counts alone.
    public var replaced: Int?

    public init(tier: Int, category: String?, jurisdiction: String?, referrals: Int?, replaced: Int?) {
        self.tier = tier
        self.category = category
        self.jurisdiction = jurisdiction
        self.referrals = referrals
        self.replaced = replaced
    }

    fileprivate static let keys: [Schema.Field] = [
        .init("tier", .integer(0...4)), .init("category", .text.nullable), .init("jurisdiction", .text.nullable),
    ]

    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("tier", tier)
        writer.member("category", category)
        writer.member("jurisdiction", jurisdiction)
        for (name, count) in [("referrals", referrals), ("replaced", replaced)] {
            writer.key(name)
            if let count { writer.integer(count) } else { writer.string(SafetyCountResource.hidden) }
        }
    }
}

extension SafetyReportResource: WireResource {
    public static let schemaName = "SafetyReport"
    public static let fields: [Schema.Field] = keys + [.init("referrals", .integer), .init("replaced", .integer)]

    public func write(to writer: inout JSONWriter) { writer.object { writeMembers(to: &$0) } }
}
