import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An account as operators see it: `GET /api/v1/operator/users?id=`. Nothing that the user wrote.
public struct AccountStatusResource: Sendable, Equatable {
    public var id: UUID
    public var createdAt: Timestamp
    public var suspendedAt: Timestamp?
    public var suspendedReason: String?
    /// Those that give a tier now.
    public var entitlements: [String]
    /// When the last of them ends; nil without one, and for one that does not end.
    public var accessUntil: Timestamp?
    public var lastTurnAt: Timestamp?
    public var runningTurns: Int
    /// Messages of the UTC day; the next two are of the same day.
    public var messagesToday: Int
    /// US dollars.
    public var spentToday: String
    /// Turns whose cost is unknown and not in `spentToday`.
    public var unpricedTurnsToday: Int

    public init(
        id: UUID, createdAt: Timestamp, suspendedAt: Timestamp?, suspendedReason: String?, entitlements: [String], accessUntil: Timestamp?,
        lastTurnAt: Timestamp?, runningTurns: Int, messagesToday: Int, spentToday: String, unpricedTurnsToday: Int
    ) {
        self.id = id
        self.createdAt = createdAt
        self.suspendedAt = suspendedAt
        self.suspendedReason = suspendedReason
        self.entitlements = entitlements
        self.accessUntil = accessUntil
        self.lastTurnAt = lastTurnAt
        self.runningTurns = runningTurns
        self.messagesToday = messagesToday
        self.spentToday = spentToday
        self.unpricedTurnsToday = unpricedTurnsToday
    }
}

extension AccountStatusResource: WireResource {
    public static let schemaName = "AccountStatus"
    public static let fields: [Schema.Field] = [
        .init("id", .id), .init("created_at", .time), .init("suspended_at", .time.nullable), .init("suspended_reason", .text.nullable),
        .init("entitlements", .array(of: .text)), .init("access_until", .time.nullable), .init("last_turn_at", .time.nullable),
        .init("running_turns", .integer), .init("messages_today", .integer), .init("spent_today_usd", .money),
        .init("unpriced_turns_today", .integer),
    ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("created_at", createdAt)
            writer.member("suspended_at", suspendedAt)
            writer.member("suspended_reason", suspendedReason)
            writer.key(literal: "entitlements")
            writer.array { writer in for name in entitlements { writer.string(name) } }
            writer.member("access_until", accessUntil)
            writer.member("last_turn_at", lastTurnAt)
            writer.member("running_turns", runningTurns)
            writer.member("messages_today", messagesToday)
            writer.member("spent_today_usd", spentToday)
            writer.member("unpriced_turns_today", unpricedTurnsToday)
        }
    }
}
