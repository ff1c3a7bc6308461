import CoachCore
import Foundation
import PostgresClient

/// What the schema needs from time to time. Any instance may do it, several at once too.
public struct Housekeeping: Sendable {
    private let client: PostgresClient
    private let daysKept: Int

    /// `daysKept`: how long the content of deleted conversations is kept.
    public init(client: PostgresClient, daysKept: Int) {
        self.client = client
        self.daysKept = daysKept
    }

    /// Makes the ledger's partitions of the next two weeks; until one exists, its rows go to a default partition. Returns how many were missing.
    /// Throws `StoreFault`.
    @discardableResult
    public func makePartitions() async throws -> Int {
        try await StoreFault.translating {
            try await client.query("select gateway.make_usage_partitions(14)") { rows in try rows.only { row in try row.value(0) } }
        }
    }

    /// The job that purges, once an hour whichever instance enqueues it.
    public static func purgeJob(at date: Date) -> NewJob {
        NewJob(.purgeDeletedContent, idempotencyKey: "\(Int(date.timeIntervalSince1970) / 3600)")
    }

    /// Forgets idempotency keys of jobs that were done a week ago: longer than anybody repeats a cause. Throws `StoreFault`.
    public func forgetDoneJobs() async throws {
        try await repeatParts(of: 5_000) { "select gateway.forget_done_jobs(interval '7 days', \($0)::integer)" }
    }

    /// Removes idempotency keys of creations that have expired. Throws `StoreFault`.
    public func purgeIdempotencyKeys() async throws {
        try await repeatParts(of: 5_000) { "select gateway.purge_idempotency_keys(\($0)::integer)" }
    }

    /// Repeats a statement that removes at most `count` rows and returns how many, until it finds fewer.
    private func repeatParts(of count: Int, _ statement: (Int) -> Query) async throws {
        let query = statement(count)
        var removed = count
        while removed == count {
            removed = try await StoreFault.translating { try await client.value(of: query, as: Int.self) }
        }
    }

    /// Removes the content of conversations that were deleted long enough ago, and of ephemeral ones, a few at a time: others wait behind a statement
    /// on its connection. Returns of how many. Throws `StoreFault` or `CancellationError`.
    @discardableResult
    public func purge(atMost: Int = 10_000) async throws -> Int {
        let ephemeral = try await purge(atMost: atMost, "select gateway.purge_ephemeral(20)")
        return ephemeral
            + (try await purge(atMost: atMost, "select gateway.purge_deleted(make_interval(days => \(daysKept)::integer), 20)"))
    }

    private func purge(atMost: Int, _ statement: Query) async throws -> Int {
        var purged = 0
        while purged < atMost {
            try Task.checkCancellation()
            let found: Int = try await StoreFault.translating {
                try await repeatingContended { try await client.value(of: statement, as: Int.self) }
            }
            if found == 0 { break }
            purged += found
        }
        return purged
    }
}

extension JobKind {
    /// Removes the content of deleted conversations whose time is over.
    public static let purgeDeletedContent = JobKind(rawValue: "purge_deleted_content")
}
