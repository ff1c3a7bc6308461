import CoachCore
import Foundation
import JSON
import PostgresClient

extension JobQueue {
    /// The queue in the table `gateway.jobs`.
    /// - Parameter instance: the holder of the leases.
    public init(client: PostgresClient, instance: UUID) {
        self.init(
            enqueue: { job in
                let query: Query = """
                    select gateway.enqueue_job(
                        \(job.userID), \(job.kind.rawValue), \(StoredJSON.encode(job.payload))::jsonb, \(job.idempotencyKey),
                        clock_timestamp() + make_interval(secs => \(job.delay.inSeconds)))
                    """
                return try await StoreFault.translating {
                    try await client.query(query) { rows in try rows.only { row in try row.value(0, as: Int64?.self).map { JobID($0) } } }
                }
            },
            exchange: { ended, wanted, lease in
                let take: Query = """
                    select id, attempt, is_last, user_id, kind, payload, idempotency_key
                    from gateway.take_jobs(
                        \(instance), \(wanted.keys.map(\.rawValue)), \(Array(wanted.values)), \(lease.inSeconds))
                    """
                let queries = (ended.isEmpty ? [] : [Self.end(ended, of: instance)]) + (wanted.isEmpty ? [] : [take])
                guard !queries.isEmpty else { return [] }
                let taken = try await StoreFault.translating {
                    try await client.batch(queries) { rows in wanted.isEmpty ? [] : try rows.map { try TakenRow($0) } }
                }
                return try taken.map { try $0.job }
            },
            renew: { held, lease in
                let query: Query = """
                    select id from gateway.renew_jobs(
                        \(instance), \(held.map(\.id.raw)), \(held.map(\.attempt)), \(lease.inSeconds)) as id
                    """
                return try await StoreFault.translating {
                    try await client.query(query) { rows in Set(try rows.map { row in JobID(try row.value(0)) }) }
                }
            },
            figures: {
                try await StoreFault.translating {
                    try await client.query("select kind, ready, dead, oldest_seconds, age_seconds from gateway.job_figures()") { rows in
                        try rows.map { row in
                            JobFigures(
                                kind: JobKind(rawValue: try row.value(0)), ready: try row.value(1), dead: try row.value(2),
                                oldest: .seconds(try row.value(3, as: Double.self)), age: .seconds(try row.value(4, as: Double.self)))
                        }
                    }
                }
            })
    }

    private static func end(_ ended: [EndedRun], of instance: UUID) -> Query {
        let results = ended.map { StoredRunResult($0.result) }
        return """
            select gateway.end_jobs(
                \(instance), \(ended.map(\.run.id.raw)), \(ended.map(\.run.attempt)),
                \(results.map(\.outcome.rawValue))::gateway.job_outcome[], \(results.map(\.reason)), \(results.map(\.delay)))
            """
    }
}

/// A row of `gateway.take_jobs`. Its payload is kept as text, to be parsed in the caller's task and not on the reactor's thread.
private struct TakenRow: Sendable {
    private let run: JobRun
    private let isLastAttempt: Bool
    private let userID: UUID?
    private let kind: String
    private let payload: String
    private let idempotencyKey: String?

    init(_ row: borrowing Row) throws {
        run = JobRun(id: JobID(try row.value(0)), attempt: try row.value(1))
        isLastAttempt = try row.value(2)
        userID = try row.value(3)
        kind = try row.value(4)
        payload = try row.value(5)
        idempotencyKey = try row.value(6)
    }

    var job: Job {
        get throws {
            let payload: JSONValue
            do throws(JSONError) {
                payload = try JSONValue(parsing: Array(self.payload.utf8))
            } catch {
                throw StoreFault.unexpected("the payload of job \(run.id) cannot be read: \(error.kind)")
            }
            return Job(
                run: run, isLastAttempt: isLastAttempt, userID: userID.map { UserID($0) }, kind: JobKind(rawValue: kind),
                payload: payload, idempotencyKey: idempotencyKey)
        }
    }
}

/// The result of one run, as elements of the array arguments of `gateway.end_jobs`.
private struct StoredRunResult {
    /// The PostgreSQL type `gateway.job_outcome`.
    enum Outcome: String {
        case done, retry, dead, returned
    }

    var outcome: Outcome
    var reason: String?
    /// Seconds.
    var delay: Double?

    init(_ result: EndedRun.Result) {
        switch result {
        case .done: outcome = .done
        case .returned: outcome = .returned
        case .dead(let reason): (outcome, self.reason) = (.dead, Self.storable(reason))
        case .retry(let pause, let reason): (outcome, self.reason, delay) = (.retry, Self.storable(reason), pause.inSeconds)
        }
    }

    /// Removes U+0000, which PostgreSQL's text cannot hold.
    private static func storable(_ text: String) -> String { text.replacing("\0", with: "") }
}

extension JSONValue: StoredWritable {}

extension Duration {
    var inSeconds: Double { self / .seconds(1) }
}
