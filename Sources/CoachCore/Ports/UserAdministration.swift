import Foundation

/// Port to what operators see and change of accounts. Changes are in the audit log. `CoachStore` implements it on PostgreSQL.
///
/// Closures throw `StoreFault`, and `NotAllowed` when the caller is not an operator.
public struct UserAdministration: Sendable {
    /// The reason that suspends a user for removal, which is final. No operator may give it.
    public static let reservedReason = "removal"

    /// nil when there is no such user.
    public var status: @Sendable (Caller, UserID) async throws -> AccountStatus?
    /// Rejects new requests of the user; running turns go on. A user who is suspended already keeps the first reason. False when there is no
    /// such user.
    public var suspend: @Sendable (Caller, UserID, _ reason: String, _ requestID: String) async throws -> Bool
    /// Ends a suspension. False when there is no such user, or they are being removed.
    public var unsuspend: @Sendable (Caller, UserID, _ reason: String?, _ requestID: String) async throws -> Bool

    public init(
        status: @escaping @Sendable (Caller, UserID) async throws -> AccountStatus?,
        suspend: @escaping @Sendable (Caller, UserID, _ reason: String, _ requestID: String) async throws -> Bool,
        unsuspend: @escaping @Sendable (Caller, UserID, _ reason: String?, _ requestID: String) async throws -> Bool
    ) {
        self.status = status
        self.suspend = suspend
        self.unsuspend = unsuspend
    }
}

/// An account as operators see it. Nothing that the user wrote.
public struct AccountStatus: Sendable, Equatable {
    public var createdAt: Date
    public var suspendedAt: Date?
    public var suspendedReason: String?
    /// Those that give a tier now.
    public var entitlements: [String]
    /// When the last of them ends; nil without one, and for one that does not end.
    public var accessUntil: Date?
    public var lastTurnAt: Date?
    public var runningTurns: Int
    /// Messages of the UTC day; the next two are of the same day.
    public var messagesToday: Int
    /// As in the figure `costs` by user, without the calls of the safety judge: they would tell whose messages it was asked about.
    public var spentToday: Nanodollars
    /// Turns whose cost is unknown and not in `spentToday`.
    public var unpricedTurnsToday: Int

    public init(
        createdAt: Date, suspendedAt: Date?, suspendedReason: String?, entitlements: [String], accessUntil: Date?, lastTurnAt: Date?,
        runningTurns: Int, messagesToday: Int, spentToday: Nanodollars, unpricedTurnsToday: Int
    ) {
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
