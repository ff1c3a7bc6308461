import Foundation

/// Port to the periodic maintenance of the database: creates partitions and removes expired rows. Any instance may run it, also several at the same
/// time. `CoachStore` implements it on PostgreSQL. Closures throw `StoreFault`.
public struct Housekeeping: Sendable {
    /// Creates the ledger's partitions for the next two weeks. Without them rows go to a default partition. Returns how many were created.
    public var makePartitions: @Sendable () async throws -> Int
    /// Detaches the ledger's partitions of days that are longer ago than so many days; 0: none. Figures of those days stay.
    public var detachPartitions: @Sendable (_ days: Int) async throws -> Void
    /// Removes idempotency keys of jobs that were done more than a week ago: no enqueuing is repeated after that time.
    public var forgetDoneJobs: @Sendable () async throws -> Void
    /// Removes idempotency keys of creations that have expired.
    public var purgeIdempotencyKeys: @Sendable () async throws -> Void
    /// Removes the content of expired ephemeral conversations, and of those that were deleted long enough ago. Returns the number of conversations that
    /// were emptied. Throws `CancellationError`, too.
    public var purge: @Sendable () async throws -> Int
    /// Removes the content of personas that were deleted long enough ago. Returns their number. Throws `CancellationError`, too.
    public var purgePersonas: @Sendable () async throws -> Int
    /// Removes previews that began ten minutes ago: longer than a turn may last, and than a lost connection is resumed. Returns how many there were.
    public var purgePreviews: @Sendable () async throws -> Int
    /// Ends the ledger's records of summaries whose process was killed, with the bills that `SummaryRepository.estimate` has saved. Returns how many
    /// there were.
    public var endLostSummaries: @Sendable () async throws -> Int

    public init(
        makePartitions: @escaping @Sendable () async throws -> Int,
        detachPartitions: @escaping @Sendable (_ days: Int) async throws -> Void,
        forgetDoneJobs: @escaping @Sendable () async throws -> Void, purgeIdempotencyKeys: @escaping @Sendable () async throws -> Void,
        purge: @escaping @Sendable () async throws -> Int, purgePersonas: @escaping @Sendable () async throws -> Int,
        purgePreviews: @escaping @Sendable () async throws -> Int,
        endLostSummaries: @escaping @Sendable () async throws -> Int
    ) {
        self.makePartitions = makePartitions
        self.detachPartitions = detachPartitions
        self.forgetDoneJobs = forgetDoneJobs
        self.purgeIdempotencyKeys = purgeIdempotencyKeys
        self.purge = purge
        self.purgePersonas = purgePersonas
        self.purgePreviews = purgePreviews
        self.endLostSummaries = endLostSummaries
    }

    /// The job that calls `purge` and `purgePersonas`. Its idempotency key is the hour, so that it runs once an hour however many instances enqueue it.
    public static func purgeJob(at date: Date) -> NewJob {
        NewJob(.purgeDeletedContent, idempotencyKey: "\(Int(date.timeIntervalSince1970) / 3600)")
    }
}

extension JobKind {
    /// Runs `Housekeeping.purge` and `purgePersonas`.
    public static let purgeDeletedContent = JobKind(rawValue: "purge_deleted_content")
}
