import Foundation
import PostgresClient
import Synchronization
import TestSupport
import Testing

/// Tests with a broken or stopped server. Each has a server of its own.
@Suite(.timeLimit(.minutes(5))) struct FaultTests {
    @Test(
        "kill -9 of the server under load, three times: no acknowledged write is lost, none is written twice, and the pool is back in 2 s")
    func kill9() async throws {
        let cluster = try await ThrowawayCluster.start()
        let database = try await cluster.freshDatabase()
        try await database.psql("create table t (id int primary key)")
        try await withClient(at: database.url) { client in
            let load = InsertLoad(client)
            let running = Task { await load.run(tasks: 16) }
            var returns: [Duration] = []
            for _ in 0..<3 {
                try await eventually { load.acknowledged.count > 50 }
                await cluster.kill9()
                // The connection is refused, or lost and then refused: reported within a second.
                let refusal = await postgresError { _ = try await client.int("select 1", deadline: .seconds(1)) }
                #expect(refusal?.kind == .unavailable)
                try await cluster.start()
                let accepting = ContinuousClock.now
                let before = load.acknowledged.count
                try await eventually { load.acknowledged.count > before }
                returns.append(accepting.duration(to: .now))
            }
            // Each is bounded by the back-off. The median, because one of the three may be slow on a busy machine.
            #expect(returns.sorted()[1] < .seconds(2))
            load.stop()
            await running.value
            let stored = Set(try await client.query("select id from t") { rows in (0..<rows.count).compactMap { rows.int($0, 0) } })
            #expect(load.acknowledged.subtracting(stored).isEmpty)
            // What the client reported as certainly not committed was not committed.
            #expect(stored.isDisjoint(with: load.surelyNot))
        }
    }

    @Test("a killed backend fails the batches on its shared connection, and no others")
    func killedBackend() async throws {
        try await withClient { client, database in
            try await eventually { try await connections(client) >= 3 }
            let sleeper = Task { try await client.execute("select pg_sleep(60)", deadline: .seconds(60)) }
            try await eventually {
                try await client.int("select count(*) from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()")
                    == 1
            }
            try await database.psql(
                "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()")
            let error = await postgresError { _ = try await sleeper.value }
            #expect(error?.kind == .unavailable)
            #expect(error?.mayHaveTakenEffect == true)
            try await expectEqual(client.int("select 1"), 1)
            try await eventually { try await connections(client) >= 3 }
        }
    }

    @Test("batches whose connection is lost, and the one to which they are given then, too, fail at once and not at their deadline")
    func allConnectionsLost() async throws {
        let cluster = try await ThrowawayCluster.start()
        try await withClient(
            at: cluster.url(),
            configure: {
                $0.sharedConnections = 8
                $0.statementTimeout = .seconds(60)
            }
        ) { client in
            try await eventually { await client.load().connections == 8 }
            // The connection of their affinity takes some of them, and the others wait.
            async let failures = withTaskGroup(of: PostgresError.Kind?.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        await postgresError {
                            try await client.query("select pg_sleep(60)", affinity: 0, deadline: .seconds(30)) { _ in }
                        }?.kind
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            try await eventually { await client.load().waitingRequests > 50 }
            // Occupied while the server is killed, the reactor finds all connections lost at once.
            let (occupied, occupies) = AsyncStream<Void>.makeStream()
            let isKilled = DispatchSemaphore(value: 0)
            async let occupying = postgresError {
                try await client.query("select 1", affinity: 1) { _ in
                    occupies.yield()
                    isKilled.wait()
                }
            }
            _ = await occupied.first { _ in true }
            await cluster.kill9()
            isKilled.signal()
            #expect(await failures.allSatisfy { $0 == .unavailable })
            _ = await occupying
        }
    }

    private func connections(_ client: PostgresClient) async throws -> Int {
        try await client.int(
            "select count(*) from pg_stat_activity where application_name = 'postgres-client' and datname = current_database()") ?? 0
    }

    @Test("a server that hangs: callers fail by their deadline, later ones at once, and are served when it resumes")
    func hangingServer() async throws {
        let cluster = try await ThrowawayCluster.start()
        try await withClient(
            at: cluster.url(),
            configure: {
                $0.statementTimeout = .milliseconds(200)
                $0.connectTimeout = .seconds(1)
            }
        ) { client in
            try await expectEqual(client.int("select 1"), 1)
            cluster.sigstop()
            let hanging = await postgresError { _ = try await client.int("select 1", deadline: .milliseconds(500)) }
            #expect(hanging?.kind == .deadline)
            // First silence on a busy shared connection, then a connection attempt without an answer: now unreachable.
            try await eventually {
                _ = await postgresError { _ = try await client.int("select 1", deadline: .milliseconds(500)) }
                if case .unreachable = client.status { return true }
                return false
            }
            #expect(await postgresError { _ = try await client.int("select 1", deadline: .milliseconds(500)) }?.kind == .unavailable)
            #expect(await postgresError { try await client.withConnection(deadline: .milliseconds(500)) { _ in } }?.kind == .unavailable)
            cluster.sigcont()
            try await eventually { client.status.isReachable }
            try await expectEqual(client.int("select 2"), 2)
        }
    }

    @Test("a server process that hangs while it resets the session of a returned lease keeps no place of a lease")
    func hangingReset() async throws {
        let cluster = try await ThrowawayCluster.start()
        try await withClient(
            at: cluster.url(),
            configure: {
                $0.maximumLeases = 1
                $0.defaultDeadline = .milliseconds(500)
            }
        ) { client in
            let hanging = try await client.withConnection(deadline: .seconds(10)) { lease in
                let pid = try #require(try await lease.query("select pg_backend_pid()") { $0.int(0, 0) })
                kill(pid_t(pid), SIGSTOP)
                return pid
            }
            defer { kill(pid_t(hanging), SIGCONT) }
            let other = try await client.withConnection(deadline: .seconds(10)) { lease in
                try await lease.query("select pg_backend_pid()") { $0.int(0, 0) }
            }
            #expect(other != hanging)
        }
    }

    @Test("without a server callers fail at once, and are served as soon as there is one")
    func serverComesLater() async throws {
        let cluster = try await ThrowawayCluster.start()
        await cluster.stop()
        try await withClient(at: cluster.url()) { client in
            let errors = await withTaskGroup { group in
                for _ in 0..<100 { group.addTask { await postgresError { _ = try await client.int("select 1", deadline: .seconds(1)) } } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(errors.allSatisfy { $0?.kind == .unavailable && $0?.mayHaveTakenEffect == false })
            try await cluster.start()
            try await eventually { client.status.isReachable }
            try await expectEqual(client.int("select 1"), 1)
        }
    }

    @Test("a client without shared connections gets leases as soon as there is a server")
    func leasesOnly() async throws {
        let cluster = try await ThrowawayCluster.start()
        await cluster.stop()
        try await withClient(at: cluster.url(), configure: { $0.sharedConnections = 0 }) { client in
            #expect(await postgresError { try await client.withConnection { _ in } }?.kind == .unavailable)
            try await cluster.start()
            try await expectEqual(client.withConnection { try await $0.query("select 1") { $0.int(0, 0) } }, 1)
        }
    }

    @Test("a server at its connection limit fails leases, but the shared connections continue")
    func noSlot() async throws {
        let cluster = try await ThrowawayCluster.start(settings: ["max_connections": "8", "superuser_reserved_connections": "0"])
        try await withClient(at: cluster.url(), configure: { $0.sharedConnections = 2 }) { client in
            try await expectEqual(client.int("select 1"), 1)
            let outcomes = await withTaskGroup(of: PostgresError.Kind?.self) { group in
                for _ in 0..<8 {
                    group.addTask { await sleepOnLease(client)?.kind }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.contains(nil))
            #expect(outcomes.allSatisfy { $0 == nil || $0 == .deadline || $0 == .unavailable })
            try await expectEqual(client.int("select 2"), 2)
        }
    }
}

private func sleepOnLease(_ client: PostgresClient) async -> PostgresError? {
    await postgresError {
        let _: Int = try await client.withConnection(deadline: .milliseconds(500)) { lease in
            try await lease.execute("select pg_sleep(0.7)")
        }
    }
}

/// Inserts numbers until `stop`, and records which inserts were acknowledged and which certainly failed.
private final class InsertLoad: Sendable {
    private let client: PostgresClient
    private let next = Atomic(0)
    private let isStopped = Atomic(false)
    private let account = Mutex((acknowledged: Set<Int>(), surelyNot: Set<Int>()))

    init(_ client: PostgresClient) {
        self.client = client
    }

    var acknowledged: Set<Int> { account.withLock { $0.acknowledged } }
    var surelyNot: Set<Int> { account.withLock { $0.surelyNot } }

    func stop() {
        isStopped.store(true, ordering: .relaxed)
    }

    func run(tasks: Int) async {
        await withTaskGroup { group in
            for _ in 0..<tasks { group.addTask { await self.insertUntilStopped() } }
        }
    }

    private func insertUntilStopped() async {
        while !isStopped.load(ordering: .relaxed) {
            let number = next.add(1, ordering: .relaxed).newValue
            do {
                try await client.execute("insert into t values (\(number))")
                account.withLock { _ = $0.acknowledged.insert(number) }
            } catch {
                if let error = error as? PostgresError, !error.mayHaveTakenEffect { account.withLock { _ = $0.surelyNot.insert(number) } }
                // Calls fail at once while the server is stopped; the pause leaves CPU time for starting it.
                try? await Task.sleep(for: .milliseconds(1))
            }
        }
    }
}
