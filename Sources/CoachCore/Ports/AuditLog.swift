import Foundation

/// Port to the log of what operators and creators changed. Entries are written by the functions that make the changes, in the same
/// transaction; they cannot be changed. `CoachStore` implements it on PostgreSQL. Closures throw `StoreFault`.
public struct AuditLog: Sendable {
    /// Entries with a sequence below `before` (nil: from the newest), newest first. Throws `NotAllowed` when the caller is not an operator.
    public var entries: @Sendable (Caller, _ before: Int64?, _ limit: Int) async throws -> [AuditEntry]
    /// Recomputes the hash chain of the whole log.
    public var verify: @Sendable () async throws -> AuditChain

    public init(
        entries: @escaping @Sendable (Caller, _ before: Int64?, _ limit: Int) async throws -> [AuditEntry],
        verify: @escaping @Sendable () async throws -> AuditChain
    ) {
        self.entries = entries
        self.verify = verify
    }
}

/// One change.
public struct AuditEntry: Sendable, Equatable {
    /// 1, 2, 3, … without gaps.
    public var sequence: Int64
    /// nil for a command that an administrator ran.
    public var actor: UserID?
    /// `operator`, `creator`, `user` or `system`.
    public var actorRole: String
    /// Such as `document.put` or `user.suspend`.
    public var action: String
    /// Such as `limits/default` or `account/<account id>`.
    public var target: String
    public var beforeVersion: Int?
    public var afterVersion: Int?
    public var reason: String?
    public var requestID: String?
    public var createdAt: Date
    /// SHA-256 over the previous entry's hash and this entry.
    public var hash: [UInt8]

    public init(
        sequence: Int64, actor: UserID?, actorRole: String, action: String, target: String, beforeVersion: Int?, afterVersion: Int?,
        reason: String?, requestID: String?, createdAt: Date, hash: [UInt8]
    ) {
        self.sequence = sequence
        self.actor = actor
        self.actorRole = actorRole
        self.action = action
        self.target = target
        self.beforeVersion = beforeVersion
        self.afterVersion = afterVersion
        self.reason = reason
        self.requestID = requestID
        self.createdAt = createdAt
        self.hash = hash
    }
}

/// The state of the hash chain.
public struct AuditChain: Sendable, Equatable {
    public var entries: Int64
    /// Sequence of the first entry that was changed, inserted, or follows a removed one; nil when the chain is intact.
    public var brokenAt: Int64?
    /// Hash of the newest entry; nil for an empty log. Kept elsewhere, it shows later whether the newest entries were removed.
    public var head: [UInt8]?

    public init(entries: Int64, brokenAt: Int64?, head: [UInt8]?) {
        self.entries = entries
        self.brokenAt = brokenAt
        self.head = head
    }
}
