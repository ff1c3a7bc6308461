import CoachCore
import Foundation
import PostgresClient

extension Housekeeping {
    /// Maintenance of PostgreSQL.
    /// - Parameters:
    ///   - daysKept: how many days the content of deleted conversations and personas is kept.
    ///   - rowsAtOnce: messages and turns of a statement of `purge`: others wait behind it on its connection, and the role has a statement timeout.
    public static func postgres(client: PostgresClient, daysKept: Int, rowsAtOnce: Int = 1_000) -> Housekeeping {
        Housekeeping(
            makePartitions: {
                try await StoreFault.translating { try await client.value(of: "select gateway.make_usage_partitions(14)", as: Int.self) }
            },
            detachPartitions: { days in
                guard days > 0 else { return }
                while try await StoreFault.translating({
                    try await client.value(of: "select gateway.detach_usage_partition(\(days)::integer)", as: Bool.self)
                }) { try Task.checkCancellation() }
            },
            forgetDoneJobs: {
                try await client.repeatParts(of: 5_000) { "select gateway.forget_done_jobs(interval '7 days', \($0)::integer)" }
            },
            purgeIdempotencyKeys: {
                try await client.repeatParts(of: 5_000) { "select gateway.purge_idempotency_keys(\($0)::integer)" }
            },
            purge: { try await client.purge(daysKept: daysKept, rowsAtOnce: rowsAtOnce) },
            // One at once: it may have 60 MB of versions.
            purgePersonas: { try await client.purgeAll("select gateway.purge_personas(make_interval(days => \(daysKept)::integer), 1)") },
            purgePreviews: { try await client.purgeAll("select gateway.purge_previews(make_interval(secs => 600), 20)") },
            endLostSummaries: {
                try await StoreFault.translating { try await client.value(of: "select gateway.end_lost_summaries()", as: Int.self) }
            })
    }
}

extension PostgresClient {
    /// Repeats a statement that removes at most `count` rows and returns their number, until it removes fewer.
    fileprivate func repeatParts(of count: Int, _ statement: (Int) -> Query) async throws {
        let query = statement(count)
        var removed = count
        while removed == count {
            removed = try await StoreFault.translating { try await value(of: query, as: Int.self) }
        }
    }

    fileprivate func purge(daysKept: Int, rowsAtOnce: Int) async throws -> Int {
        let statement: Query = """
            select conversations, removed from gateway.purge_content(make_interval(days => \(daysKept)::integer), \(rowsAtOnce)::integer)
            """
        var purged = 0
        while true {
            try Task.checkCancellation()
            let (conversations, removed): (Int, Int) = try await StoreFault.translating {
                try await repeatingContended {
                    try await query(statement) { rows in try rows.only { row in (try row.value(0), try row.value(1)) } }
                }
            }
            purged += conversations
            if conversations == 0, removed == 0 { return purged }
        }
    }

    /// Repeats a statement that purges some things and returns their number, until there are none left. Returns how many there were.
    fileprivate func purgeAll(_ statement: Query) async throws -> Int {
        var purged = 0
        while true {
            try Task.checkCancellation()
            let found: Int = try await StoreFault.translating {
                try await repeatingContended { try await value(of: statement, as: Int.self) }
            }
            if found == 0 { return purged }
            purged += found
        }
    }
}
