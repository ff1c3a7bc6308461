/// Port to the index of messages for `MessageSearch`, in a background job after a search that found many that were not indexed. `CoachStore` implements
/// it on PostgreSQL.
public struct MessageIndexer: Sendable {
    /// Indexes a part of the user's messages. Returns whether more are left. Throws `StoreFault`.
    public var indexPart: @Sendable (UserID) async throws -> Bool

    public init(indexPart: @escaping @Sendable (UserID) async throws -> Bool) { self.indexPart = indexPart }
}

extension JobKind {
    /// Indexes the messages of the job's user for the search.
    public static let indexMessages = JobKind(rawValue: "index_messages")
}
