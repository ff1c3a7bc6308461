import Foundation

/// Port to the idempotency keys of creations (`Idempotency-Key`). `CoachStore` implements it on PostgreSQL.
///
/// A key belongs to one user and is kept for a day. Closures throw `StoreFault`.
public struct IdempotentRequests: Sendable {
    /// Claims the key before the creation begins. A claim that was neither completed nor released expires after a minute: its process crashed, and
    /// whether it created the resource is unknown.
    public var claim: @Sendable (Caller, IdempotentRequest) async throws -> IdempotencyClaim
    /// Saves the answer of a claimed request, which later claims with the same request return.
    public var complete: @Sendable (Caller, _ key: String, CreationAnswer) async throws -> Void
    /// Gives the key back after an error, so that the request can be repeated. `createdNothing` false: whether the resource exists is not known, and
    /// the next claim of the same request gets the same id.
    public var release: @Sendable (Caller, _ key: String, _ createdNothing: Bool) async throws -> Void

    public init(
        claim: @escaping @Sendable (Caller, IdempotentRequest) async throws -> IdempotencyClaim,
        complete: @escaping @Sendable (Caller, _ key: String, CreationAnswer) async throws -> Void,
        release: @escaping @Sendable (Caller, _ key: String, _ createdNothing: Bool) async throws -> Void
    ) {
        self.claim = claim
        self.complete = complete
        self.release = release
    }
}

/// A creation with an idempotency key.
public struct IdempotentRequest: Sendable, Equatable {
    /// 1–128 printable ASCII characters.
    public var key: String
    /// Method and path.
    public var route: String
    public var body: [UInt8]

    public init(key: String, route: String, body: [UInt8]) {
        self.key = key
        self.route = route
        self.body = body
    }
}

/// The result of `claim`.
public enum IdempotencyClaim: Sendable, Equatable {
    /// The caller creates the resource with this id, unless it exists, then calls `complete` or `release`.
    case claimed(resourceID: UUID)
    /// The same request was answered before.
    case completed(CreationAnswer)
    /// The same request is being executed.
    case inProgress
    /// The key was used with another route or body.
    case conflict
}

/// The answer to a creation.
public struct CreationAnswer: Sendable, Equatable {
    /// HTTP status.
    public var status: Int
    /// `data` of the envelope, JSON.
    public var data: [UInt8]
    /// The version of the resource, for its `ETag`; nil where it has none.
    public var version: Int64?

    public init(status: Int, data: [UInt8], version: Int64? = nil) {
        self.status = status
        self.data = data
        self.version = version
    }
}
