import Foundation
import PostgresClient
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct LimitTests {
    @Test("the server ends a statement after `statementTimeout`, and the connection stays usable")
    func statementTimeout() async throws {
        try await withClient(configure: {
            $0.sharedConnections = 1
            $0.statementTimeout = .milliseconds(100)
        }) { client, _ in
            let error = await postgresError { try await client.execute("select pg_sleep(10)") }
            #expect(error?.isStatementTimeout == true)
            try await expectEqual(client.int("select 1"), 1)
        }
    }

    @Test("a deadline fails its caller in time, and the shared connection stays usable")
    func deadline() async throws {
        try await withClient(configure: {
            $0.sharedConnections = 1
            $0.statementTimeout = .seconds(1)
        }) { client, _ in
            _ = try await client.int("select 1")
            // A later answer would have the server's timeout as its error.
            let error = await postgresError { try await client.execute("select pg_sleep(10)", deadline: .milliseconds(50)) }
            #expect(error?.kind == .deadline)
            #expect(error?.mayHaveTakenEffect == true)
            try await expectEqual(client.int("select 2"), 2)
        }
    }

    @Test("a cancelled task fails at once, its result is dropped, and other batches on the connection are not affected")
    func cancellation() async throws {
        try await withClient(configure: { ($0.sharedConnections, $0.statementTimeout) = (1, .seconds(60)) }) { client, _ in
            _ = try await client.int("select 1")
            let key = Int64.random(in: 0...Int64.max)
            try await client.withConnection { lease in
                // The statement waits while another session holds the lock, so that the test does not depend on time.
                try await lease.execute("select pg_advisory_lock(\(key))")
                let slow = Task { try await client.text("select 'slow' from pg_advisory_xact_lock(\(key))", deadline: .seconds(60)) }
                let waiting: Query = """
                    select count(*) from pg_locks l join pg_database d on d.oid = l.database
                    where d.datname = current_database() and l.locktype = 'advisory' and not l.granted
                    """
                try await eventually { try await lease.query(waiting) { $0.int(0, 0) } == 1 }
                slow.cancel()
                let error = await postgresError { _ = try await slow.value }
                #expect(error?.kind == .cancelled)
                try await lease.execute("select pg_advisory_unlock(\(key))")
            }
            for number in 0..<20 { try await expectEqual(client.int("select \(number)::int"), number) }
        }
    }

    private func isSleeping(_ client: PostgresClient) async throws -> Bool {
        let sleepers: Query = "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()"
        return try await client.withConnection { try await $0.query(sleepers) { $0.int(0, 0) } } == 1
    }

    @Test("cancelling a task that holds a lease cancels its statement at the server")
    func leaseCancellation() async throws {
        try await withClient(configure: { $0.statementTimeout = .seconds(60) }) { client, _ in
            let slow = Task {
                try await client.withConnection { try await $0.execute("select pg_sleep(60)", deadline: .seconds(60)) }
            }
            try await eventually { try await isSleeping(client) }
            slow.cancel()
            #expect(await postgresError { _ = try await slow.value }?.kind == .cancelled)
            try await eventually { try await !isSleeping(client) }
        }
    }

    @Test("a request of a task that is already cancelled is not sent")
    func cancelledBefore() async throws {
        try await withClient { client, database in
            try await database.psql("create table t (n int)")
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                try await client.execute("insert into t values (1)")
            }
            task.cancel()
            #expect(await postgresError { _ = try await task.value }?.kind == .cancelled)
            try await expectEqual(database.psql("select count(*) from t"), "0")
        }
    }

    @Test("callers beyond `maximumWaiters` fail at once, the others are served")
    func waiterBound() async throws {
        try await withClient(configure: {
            $0.sharedConnections = 1
            $0.maximumWaiters = 10
        }) { client, _ in
            _ = try await client.int("select 1")
            let outcomes = await withTaskGroup { group in
                for _ in 0..<200 {
                    group.addTask { await postgresError { try await client.execute("select pg_sleep(0.01)") }?.kind }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.allSatisfy { $0 == nil || $0 == .poolExhausted })
            #expect(outcomes.contains(.poolExhausted))
            #expect(outcomes.count { $0 == nil } >= 42)
        }
    }

    @Test("notices of the server do not reach standard error")
    func notices() async throws {
        await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            try await withClient { client, _ in
                try await client.execute("do $$ begin raise warning 'canary' ; end $$")
                try await expectEqual(client.int("select 1"), 1)
            }
        }
    }
}
