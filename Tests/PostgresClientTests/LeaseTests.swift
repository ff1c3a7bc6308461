import Foundation
import PostgresClient
import Testing

@Suite(.timeLimit(.minutes(5))) struct LeaseTests {
    @Test("a transaction is committed when its body returns and rolled back when it throws")
    func transaction() async throws {
        struct Stop: Error {}
        try await withClient { client, database in
            try await database.psql("create table t (n int)")
            let value = try await client.withTransaction { lease in
                try await lease.execute("insert into t values (\(1))")
                return "kept"
            }
            #expect(value == "kept")
            await #expect(throws: Stop.self) {
                try await client.withTransaction { lease in
                    try await lease.execute("insert into t values (\(2))")
                    throw Stop()
                }
            }
            try await expectEqual(database.psql("select array_agg(n) from t"), "{1}")
        }
    }

    @Test("a transaction whose body ignored a statement's error throws, because nothing was committed")
    func swallowedError() async throws {
        try await withClient { client, database in
            try await database.psql("create table t (n int)")
            let error = await postgresError {
                try await client.withTransaction { lease in
                    try await lease.execute("insert into t values (\(1))")
                    _ = try? await lease.execute("select 1 / \(0)::int")
                }
            }
            #expect(error?.kind == .protocolViolation)
            try await expectEqual(database.psql("select count(*) from t"), "0")
        }
    }

    @Test("the session state of a leased connection does not reach the next caller")
    func reset() async throws {
        try await withClient(configure: { $0.maximumLeases = 1 }) { client, database in
            let role = "r_\(database.name)"
            try await database.psql("create role \(role)")
            let first = try await client.withConnection { lease in
                try await lease.execute(
                    script: """
                        set role \(role); set request.jwt.claims = 'x'; set statement_timeout = 0; create temp table left_over (n int);
                        select pg_advisory_lock(1)
                        """)
                return try await lease.query("select pg_backend_pid()") { $0.int(0, 0) }
            }
            try await client.withConnection { lease in
                try await expectEqual(lease.query("select pg_backend_pid()") { $0.int(0, 0) }, first)
                try await expectEqual(lease.query("select current_user = session_user") { $0.bool(0, 0) }, true)
                try await expectEqual(lease.query("show statement_timeout") { $0.text(0, 0) }, "30s")
                try await expectEqual(lease.query("select to_regclass('left_over')::text") { $0.text(0, 0) }, nil)
                try await expectEqual(lease.query("select current_setting('request.jwt.claims', true)") { $0.text(0, 0) ?? "" }, "")
                try await expectEqual(
                    lease.query("select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()") { $0.int(0, 0) }, 0)
            }
            try await database.psql("drop role \(role)")
        }
    }

    @Test("an open transaction is rolled back at the end of its lease")
    func openTransaction() async throws {
        try await withClient(configure: { $0.maximumLeases = 1 }) { client, database in
            try await database.psql("create table t (n int)")
            try await client.withConnection { lease in
                try await lease.execute("begin")
                try await lease.execute("insert into t values (1)")
            }
            let count = try await client.withConnection { try await $0.query("select count(*) from t") { $0.int(0, 0) } }
            #expect(count == 0)
        }
    }

    @Test("a script runs its statements in one transaction, and the connection stays usable")
    func script() async throws {
        try await withClient { client, database in
            try await client.withConnection { lease in
                try await lease.execute(script: "create table a (n int); create table b (n int); insert into a values (1), (2)")
                try await expectEqual(lease.query("select count(*) from a") { $0.int(0, 0) }, 2)
                let error = await postgresError { try await lease.execute(script: "delete from a; select nonsense; delete from b") }
                #expect(error?.sqlState == "42703")
                try await expectEqual(lease.query("select count(*) from a") { $0.int(0, 0) }, 2)
                try await lease.execute(script: "")
                #expect(await postgresError { try await lease.execute(script: "copy a from stdin") } != nil)
            }
            try await expectEqual(client.int("select count(*) from b"), 0)
            _ = database
        }
    }

    @Test("statements and scripts of a lease whose connection was lost fail at once")
    func lostConnection() async throws {
        try await withClient { client, database in
            try await client.withConnection { lease in
                let pid = try #require(try await lease.query("select pg_backend_pid()") { $0.int(0, 0) })
                try await database.psql("select pg_terminate_backend(\(pid))")
                // The connection has ended when this is answered.
                #expect(await postgresError { _ = try await lease.execute("select 1") } != nil)
                #expect(await postgresError { _ = try await lease.execute("select 1") }?.kind == .unavailable)
                #expect(await postgresError { try await lease.execute(script: "select 1", deadline: .seconds(30)) }?.kind == .unavailable)
            }
        }
    }

    @Test("a lease that was returned rejects statements")
    func afterTheEnd() async throws {
        try await withClient { client, _ in
            let kept = try await client.withConnection { $0 }
            #expect(await postgresError { try await kept.execute("select 1") }?.kind == .protocolViolation)
        }
    }

    @Test("callers wait for a free lease, their number is bounded, and each waits until its deadline")
    func waiting() async throws {
        try await withClient(configure: {
            $0.maximumLeases = 1
            $0.maximumWaiters = 2
        }) { client, _ in
            let (held, hold) = AsyncStream<Void>.makeStream()
            let (done, release) = AsyncStream<Void>.makeStream()
            async let holder: Void = client.withConnection { _ in
                hold.finish()
                for await _ in done {}
            }
            for await _ in held {}
            #expect(await postgresError { try await client.withConnection(deadline: .milliseconds(20)) { _ in } }?.kind == .deadline)
            let (refusals, refused) = AsyncStream<PostgresError.Kind>.makeStream()
            let waiters = (1...3).map { number in
                Task {
                    do {
                        return try await client.withConnection { try await $0.query("select \(number)::int") { $0.int(0, 0) } }
                    } catch let error as PostgresError {
                        refused.yield(error.kind)
                        return nil
                    }
                }
            }
            // One of three finds both waiting places taken while the connection is still leased.
            for await kind in refusals.prefix(1) { #expect(kind == .poolExhausted) }
            release.finish()
            var answers: [Int?] = []
            for waiter in waiters { answers.append(try await waiter.value) }
            #expect(answers.count { $0 == nil } == 1)
            try await holder
        }
    }
}
