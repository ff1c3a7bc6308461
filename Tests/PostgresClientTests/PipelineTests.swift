import Foundation
import PostgresClient
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct PipelineTests {
    @Test(
        "10,000 pipelined batches from 64 tasks each get their own result",
        arguments: [PostgresConfiguration.StatementMode.prepared, .unnamed])
    func manyBatches(mode: PostgresConfiguration.StatementMode) async throws {
        try await withClient(configure: { $0.statements = mode }) { client, _ in
            try await withThrowingTaskGroup { group in
                for task in 0..<64 {
                    group.addTask {
                        for number in stride(from: task, to: 10_000, by: 64) {
                            let answer = try await client.batch([
                                "select set_config('test.number', \("\(number)"), true)",
                                "select current_setting('test.number')::int + \(1)::int",
                            ]) { $0.int(0, 0) }
                            #expect(answer == number + 1)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("errors of all kinds in some batches do not affect other batches on the same connection")
    func errorsAreIsolated() async throws {
        try await withClient(configure: { $0.sharedConnections = 1 }) { client, database in
            try await database.psql("create table t (id int primary key deferrable initially deferred); insert into t values (1)")
            try await withThrowingTaskGroup { group in
                for number in 0..<400 {
                    group.addTask {
                        switch number % 5 {
                        case 0:
                            let error = await postgresError { try await client.execute("select 1 / \(0)::int") }
                            #expect(error?.sqlState == "22012")
                        case 1:
                            // Fails when it is prepared.
                            let error = await postgresError { try await client.execute("select nonsense(\(number))") }
                            #expect(error?.sqlState == "42883")
                        case 2:
                            // Fails at the commit.
                            let error = await postgresError { try await client.execute("insert into t values (\(1))") }
                            #expect(error?.sqlState == "23505")
                            #expect(error?.constraint == "t_pkey")
                        case 3:
                            // The first statement fails, the others are skipped.
                            let error = await postgresError {
                                try await client.batch(["select \("x")::int", "insert into t values (2)", "select 1"]) { _ in }
                            }
                            #expect(error?.sqlState == "22P02")
                        default:
                            try await expectEqual(client.int("select \(number)::int"), number)
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await expectEqual(database.psql("select array_agg(id) from t"), "{1}")
        }
    }

    @Test("a batch that waits for a lock does not delay batches on other connections")
    func lockWait() async throws {
        try await withClient { client, database in
            try await database.psql("create table t (id int primary key, n int); insert into t values (1, 0)")
            try await client.withTransaction { holder in
                try await holder.execute("update t set n = 1")
                async let waiting = client.execute("update t set n = n + 10 where id = 1")
                // Wait until the server reports that it waits for the lock.
                let waits: Query = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
                try await eventually { try await client.int(waits) == 1 }
                for number in 0..<50 { try await expectEqual(client.int("select \(number)::int"), number) }
                try await expectEqual(client.int(waits), 1)
                try await holder.execute("commit")
                try await holder.execute("begin")
                try await expectEqual(waiting, 1)
            }
            try await expectEqual(client.int("select n from t"), 11)
        }
    }

    @Test("roles, claims and settings local to a batch do not reach the next one on the connection, also not after an error")
    func nothingLeaks() async throws {
        try await withClient(configure: { $0.sharedConnections = 1 }) { client, database in
            let role = "r_\(database.name)"
            try await database.psql("create role \(role); create table secret (n int)")
            for _ in 0..<50 {
                async let claimed = client.batch([
                    "select set_config('role', \(role), true)",
                    "select set_config('request.jwt.claims', \(#"{"sub":"someone"}"#), true)",
                    "select current_user || current_setting('request.jwt.claims')",
                ]) { $0.text(0, 0) }
                async let refused = postgresError {
                    try await client.batch([
                        "select set_config('role', \(role), true)", "select set_config('request.jwt.claims', 'leak', true)",
                        "select * from secret",
                    ]) { _ in }
                }
                async let plain = client.text(
                    "select (current_user = session_user)::text || coalesce(current_setting('request.jwt.claims', true), '')")
                try await expectEqual(claimed, role + #"{"sub":"someone"}"#)
                #expect(await refused?.sqlState == "42501")
                try await expectEqual(plain, "true")
            }
            try await database.psql("drop role \(role)")
        }
    }

    @Test("10 MB are received while 5 MB are sent on one connection, without a deadlock")
    func hugeBothWays() async throws {
        try await withClient(configure: {
            $0.sharedConnections = 1
            $0.statementTimeout = .seconds(20)
            $0.defaultDeadline = .seconds(30)
        }) { client, _ in
            let text = String(repeating: "0123456789abcdef", count: 5 * 65536)
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        let answer = try await client.query("select \(text)::text || \(text)::text") { rows in
                            rows.withBytes(0, 0) { $0.map { ($0.count, $0.first, $0.last) } }
                        }
                        #expect(answer?.0 == 2 * text.utf8.count)
                        #expect(answer?.1 == UInt8(ascii: "0"))
                        #expect(answer?.2 == UInt8(ascii: "f"))
                    }
                    group.addTask {
                        try await expectEqual(client.query("select repeat('x', 10000) from generate_series(1, 1000)") { $0.count }, 1000)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("a schema change that outdates a prepared statement causes no error for callers")
    func outdatedPlan() async throws {
        try await withClient { client, database in
            try await database.psql("create table t (a int); insert into t values (7)")
            for round in 0..<5 {
                // Every shared connection has its own copy of the statement.
                try await withThrowingTaskGroup { group in
                    for _ in 0..<30 {
                        group.addTask { try await expectEqual(client.query("select * from t") { $0.columnCount }, round + 1) }
                    }
                    try await group.waitForAll()
                }
                try await database.psql("alter table t add column c\(round) int")
            }
        }
    }

    @Test("more statements than the cache holds work, and the server has at most a hundred prepared")
    func manyStatements() async throws {
        try await withClient(configure: { $0.sharedConnections = 1 }) { client, _ in
            for number in 0..<250 {
                try await expectEqual(client.int(Query(unsafeSQL: "select \(number)")), number)
            }
            try await expectEqual(client.int("select count(*) from pg_prepared_statements"), 100)
            // More in one batch than the cache may hold.
            let queries = (0..<150).map { Query(unsafeSQL: "select \($0) + 1000") }
            try await expectEqual(client.batch(queries) { $0.int(0, 0) }, 1149)
        }
    }

    @Test("a statement whose table does not exist yet works as soon as it does")
    func failedPreparationIsForgotten() async throws {
        try await withClient(configure: { $0.sharedConnections = 1 }) { client, database in
            #expect(await postgresError { _ = try await client.int("select n from later") }?.sqlState == "42P01")
            try await database.psql("create table later (n int); insert into later values (5)")
            try await expectEqual(client.int("select n from later"), 5)
        }
    }

    @Test("an error thrown by decode reaches the caller, and the connection stays usable")
    func decodeThrows() async throws {
        struct Odd: Error {}
        try await withClient(configure: { $0.sharedConnections = 1 }) { client, _ in
            await #expect(throws: Odd.self) { try await client.query("select 1") { _ in throw Odd() } }
            try await expectEqual(client.int("select 2"), 2)
        }
    }

    @Test("batches of one affinity run on one connection, also when sent at once; different affinities use all connections")
    func affinity() async throws {
        try await withClient(configure: { $0.sharedConnections = 4 }) { client, _ in
            // Until its own connection is open an affinity uses the next one.
            let sessions: Query = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            try await eventually { try await client.int(sessions) == 3 }
            let backends = try await withThrowingTaskGroup(of: (UInt64, Int?).self) { group in
                for number in 0..<80 {
                    let affinity = UInt64(number % 8)
                    group.addTask { (affinity, try await client.query("select pg_backend_pid()", affinity: affinity) { $0.int(0, 0) }) }
                }
                return try await group.reduce(into: [UInt64: Set<Int?>]()) { $0[$1.0, default: []].insert($1.1) }
            }
            #expect(backends.values.allSatisfy { $0.count == 1 })
            #expect(Set(backends.values).count == 4)
        }
    }

    @Test("batches that are sent while results of failed batches are unread get their own results")
    func failuresAndPieces() async throws {
        try await withClient(configure: { $0.sharedConnections = 1 }) { client, _ in
            try await withThrowingTaskGroup { group in
                for task in 0..<64 {
                    group.addTask {
                        for number in 0..<40 {
                            if (task + number) % 3 == 0 {
                                expectEqual(try await client.int("select \(number)::int"), number)
                            } else {
                                let error = await postgresError {
                                    try await client.batch(["select 1 / \(0)::int", "select 1", "select 2", "select 3"]) { _ in }
                                }
                                #expect(error?.sqlState == "22012")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
