import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An element of `GET /api/v1/operator/audit`.
public struct AuditEntryResource: Sendable, Equatable {
    /// 1, 2, 3, … without gaps.
    public var sequence: Int64
    /// nil for a command that an administrator ran.
    public var actorID: UUID?
    /// `operator`, `creator`, `user` or `system`.
    public var actorRole: String
    /// Such as `document.put`.
    public var action: String
    /// Such as `domain/fitness`.
    public var target: String
    public var beforeVersion: Int?
    public var afterVersion: Int?
    public var reason: String?
    public var requestID: String?
    public var createdAt: Timestamp
    /// SHA-256 over the previous entry's hash and this entry, in hexadecimal.
    public var hash: String

    public init(
        sequence: Int64, actorID: UUID?, actorRole: String, action: String, target: String, beforeVersion: Int?, afterVersion: Int?,
        reason: String?, requestID: String?, createdAt: Timestamp, hash: String
    ) {
        self.sequence = sequence
        self.actorID = actorID
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

extension AuditEntryResource: WireResource {
    public static let schemaName = "AuditEntry"
    public static let fields: [Schema.Field] = [
        .init("sequence", .integer), .init("actor_id", .id.nullable), .init("actor_role", .text), .init("action", .text),
        .init("target", .text), .init("before_version", .integer.nullable), .init("after_version", .integer.nullable),
        .init("reason", .text.nullable), .init("request_id", .text.nullable), .init("created_at", .time), .init("hash", .text),
    ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("sequence", sequence)
            writer.member("actor_id", actorID)
            writer.member("actor_role", actorRole)
            writer.member("action", action)
            writer.member("target", target)
            writer.member("before_version", beforeVersion)
            writer.member("after_version", afterVersion)
            writer.member("reason", reason)
            writer.member("request_id", requestID)
            writer.member("created_at", createdAt)
            writer.member("hash", hash)
        }
    }
}
