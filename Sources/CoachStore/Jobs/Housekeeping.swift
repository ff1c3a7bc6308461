import CoachCore
import Foundation
import PostgresClient

/// Periodic maintenance of the database: creates partitions and removes expired rows. Any instance may run it, also several at the same
/// time.
public struct Housekeeping: Sendable {
    private let client: PostgresClient
    private let daysKept: Int

    /// - Parameter daysKept: how many days the content of deleted conversations is kept.
    public init(client: PostgresClient, daysKept: Int) {
        self.client = client
        self.daysKept = daysKept
    }

    /// Creates the ledger's partitions for the next two weeks. Without them rows go to a default partition. Returns how many were created.
    /// Throws `StoreFault`.
    @discardableResult
    public func makePartitions() async throws -> Int {
        try await StoreFault.translating {
            try await client.query("select gateway.make_usage_partitions(14)") { rows in try rows.only { row in try row.value(0) } }
        }
    }

    /// Detaches the ledger's partitions of days that are longer ago than `days`; 0: none. Figures of those days stay. Throws `StoreFault`.
    public func detachPartitions(olderThan days: Int) async throws {
        guard days > 0 else { return }
        while try await StoreFault.translating({
            try await client.value(of: "select gateway.detach_usage_partition(\(days)::integer)", as: Bool.self)
        }) { try Task.checkCancellation() }
    }

    /// The job that calls `purge`. Its idempotency key is the hour, so that it runs once an hour however many instances enqueue it.
    public static func purgeJob(at date: Date) -> NewJob {
        NewJob(.purgeDeletedContent, idempotencyKey: "\(Int(date.timeIntervalSince1970) / 3600)")
    }

    /// Removes idempotency keys of jobs that were done more than a week ago: no enqueuing is repeated after that time. Throws `StoreFault`.
    public func forgetDoneJobs() async throws {
        try await repeatParts(of: 5_000) { "select gateway.forget_done_jobs(interval '7 days', \($0)::integer)" }
    }

    /// Removes idempotency keys of creations that have expired. Throws `StoreFault`.
    public func purgeIdempotencyKeys() async throws {
        try await repeatParts(of: 5_000) { "select gateway.purge_idempotency_keys(\($0)::integer)" }
    }

    /// Repeats a statement that removes at most `count` rows and returns their number, until it removes fewer.
    private func repeatParts(of count: Int, _ statement: (Int) -> Query) async throws {
        let query = statement(count)
        var removed = count
        while removed == count {
            removed = try await StoreFault.translating { try await client.value(of: query, as: Int.self) }
        }
    }

    /// Removes the content of expired ephemeral conversations, and of those that were deleted `daysKept` days ago. In statements of at most
    /// `atMost` messages and turns, because others wait behind a statement on its connection and the role has a statement timeout. Returns
    /// the number of conversations that were emptied. Throws `StoreFault` or `CancellationError`.
    @discardableResult
    public func purge(atMost: Int = 1_000) async throws -> Int {
        let statement: Query = """
            select conversations, removed from gateway.purge_content(make_interval(days => \(daysKept)::integer), \(atMost)::integer)
            """
        var purged = 0
        while true {
            try Task.checkCancellation()
            let (conversations, removed): (Int, Int) = try await StoreFault.translating {
                try await repeatingContended {
                    try await client.query(statement) { rows in try rows.only { row in (try row.value(0), try row.value(1)) } }
                }
            }
            purged += conversations
            if conversations == 0, removed == 0 { return purged }
        }
    }

    /// Removes previews that began ten minutes ago: longer than a turn may last, and than a lost connection is resumed. Throws `StoreFault`.
    @discardableResult
    public func purgePreviews(after seconds: Int = 600) async throws -> Int {
        let statement: Query = "select gateway.purge_previews(make_interval(secs => \(seconds)::integer), 20)"
        var purged = 0
        while true {
            try Task.checkCancellation()
            let found: Int = try await StoreFault.translating {
                try await repeatingContended { try await client.value(of: statement, as: Int.self) }
            }
            if found == 0 { return purged }
            purged += found
        }
    }

    /// Ends the ledger's records of summaries whose process was killed, with the bills that `SummaryRepository.estimate` has saved. Returns how many
    /// there were. Throws `StoreFault`.
    public func endLostSummaries() async throws -> Int {
        try await StoreFault.translating { try await client.value(of: "select gateway.end_lost_summaries()", as: Int.self) }
    }
}

extension JobKind {
    /// Runs `Housekeeping.purge`.
    public static let purgeDeletedContent = JobKind(rawValue: "purge_deleted_content")
}
