import Foundation
import PostgresClient
import Reactor
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ConnectingTests {
    @Test("connects by Unix socket, address, looked-up name, keywords, or a list of hosts of which one answers")
    func waysToConnect() async throws {
        let cluster = try await ThrowawayCluster.start()
        let user = ThrowawayCluster.user
        for connection in [
            cluster.url(),
            "postgres://\(user)@localhost:\(cluster.port)/postgres",
            "host=127.0.0.1 port=\(cluster.port) user=\(user) dbname=postgres",
            "host=\(cluster.socketDirectory) port=\(cluster.port) user=\(user) dbname=postgres",
            "postgres://\(user)@/postgres?host=\(cluster.socketDirectory)&port=\(cluster.port)",
            "host=127.0.0.1,localhost port=1,\(cluster.port) user=\(user) dbname=postgres",
            "host=localhost hostaddr=127.0.0.1 port=\(cluster.port) user=\(user) dbname=postgres",
        ] {
            try await withClient(at: connection, configure: { $0.connectTimeout = .seconds(5) }) { client in
                try await expectEqual(client.int("select 1"), 1)
            }
        }
    }

    @Test("a session has the settings, time limits and application name of the configuration")
    func session() async throws {
        try await withClient(configure: {
            $0.applicationName = "a name"
            $0.settings = ["search_path": "one, two", "work_mem": "2MB"]
            $0.statementTimeout = .milliseconds(1500)
        }) { client, _ in
            try await expectEqual(client.text("show application_name"), "a name")
            try await expectEqual(client.text("show search_path"), "one, two")
            try await expectEqual(client.text("show work_mem"), "2MB")
            try await expectEqual(client.text("show statement_timeout"), "1500ms")
            try await expectEqual(client.text("show client_encoding"), "UTF8")
        }
    }

    @Test("a failed connection reports its cause as text and as a kind, without the password")
    func refusals() async throws {
        let database = try await FreshDatabase()
        let cases: [(String, String, ConnectionFailure)] = [
            ("postgres://user:canary@[nonsense", "the connection string is not understood", .connectionString),
            ("postgres://user:canary@a,b/db?port=1,2,3", "the connection string is not understood", .connectionString),
            ("postgres://user:canary@host.invalid/db", "the host has no address: host.invalid", .unknownHost),
            ("postgres://user:canary@127.0.0.1:1/db", "Connection refused", .refused),
            (database.url + "_not_there", "does not exist", .unknownDatabase),
            (database.url + "?sslmode=require", "server does not support SSL", .certificate),
            (database.url + "?target_session_attrs=standby", "server is not in hot standby mode", .wrongSession),
        ]
        for (connection, words, kind) in cases { try await expectRefusal(connection, words, kind) }
    }

    @Test("a wrong password is reported as `credentials`, and the other hosts are not tried")
    func wrongPassword() async throws {
        let cluster = try await ThrowawayCluster.start(passwords: true)
        for hosts in ["127.0.0.1:\(cluster.port)", "127.0.0.1:\(cluster.port),127.0.0.1:1"] {
            let url = "postgres://\(ThrowawayCluster.user):canary@\(hosts)/postgres"
            let error = try await expectRefusal(url, "password authentication failed", .credentials)
            #expect(error?.sqlState == "28P01")
            #expect(error?.message.contains("Connection refused") == false)
        }
        let noPassword = "postgres://\(ThrowawayCluster.user)@127.0.0.1:\(cluster.port)/postgres?passfile=/dev/null"
        try await expectRefusal(noPassword, "no password supplied", .credentials)
    }

    @discardableResult
    private func expectRefusal(_ connection: String, _ words: String, _ kind: ConnectionFailure) async throws -> PostgresError? {
        var found: PostgresError?
        try await withClient(at: connection, configure: { $0.connectTimeout = .seconds(5) }) { client in
            let error = await postgresError { _ = try await client.int("select 1", deadline: .seconds(10)) }
            found = error
            #expect(error?.kind == .unavailable)
            #expect(error?.connectionFailure == kind, "\(error?.message ?? "")")
            #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
            #expect(error?.message.contains("canary") == false)
            guard case .unreachable(_, let reason) = client.status else {
                Issue.record("the status must say that the database is unreachable")
                return
            }
            #expect(reason.message == error?.message)
        }
        return found
    }

    @Test("a server that accepts and never answers fails with the connect timeout")
    func silentServer() async throws {
        let silent = try SilentListener()
        try await withClient(at: "postgres://u@127.0.0.1:\(silent.port)/db", configure: { $0.connectTimeout = .milliseconds(100) }) {
            client in
            let error = await postgresError { _ = try await client.int("select 1") }
            #expect(error?.kind == .unavailable)
            #expect(error?.connectionFailure == .noAnswer)
            #expect(error?.message.contains("no connection to 127.0.0.1:\(silent.port) within") == true, "\(error?.message ?? "")")
        }
    }

    @Test("hosts that drop packets are skipped within three seconds", arguments: [1, 2])
    func blackHoles(count: Int) async throws {
        let cluster = try await ThrowawayCluster.start()
        let holes = try (1...count).map { _ in try SilentListener(swallowing: true) }
        let hosts = (holes.map(\.port) + [cluster.port]).map { "127.0.0.1:\($0)" }.joined(separator: ",")
        // The default limits, not the longer ones of the other tests.
        let shipped = PostgresConfiguration("")
        try await withClient(at: "postgres://\(ThrowawayCluster.user)@\(hosts)/postgres") {
            $0.connectTimeout = shipped.connectTimeout
        } _: { client in
            let begin = ContinuousClock.now
            try await expectEqual(client.int("select 1", deadline: .seconds(20)), 1)
            #expect(begin.duration(to: .now) < .seconds(3))
            // The host that answered is now tried first, so a lost connection is replaced at once.
            let again = ContinuousClock.now
            _ = await postgresError { _ = try await client.int("select pg_terminate_backend(pg_backend_pid())::int") }
            try await eventually(within: .seconds(20)) { (try? await client.int("select 1")) == 1 }
            #expect(again.duration(to: .now) < .seconds(1))
        }
    }

    @Test("a first host that does not match target_session_attrs is skipped; without that, one that only reads")
    func sessionAttributes() async throws {
        let cluster = try await ThrowawayCluster.start()
        let readOnly = try await ThrowawayCluster.start(settings: ["default_transaction_read_only": "on"])
        let hosts = "127.0.0.1:\(readOnly.port),127.0.0.1:\(cluster.port)"
        let attributes = [
            ("?target_session_attrs=read-write", cluster.port), ("?target_session_attrs=read-only", readOnly.port),
            ("?target_session_attrs=prefer-standby", readOnly.port), ("?target_session_attrs=any", readOnly.port), ("", cluster.port),
        ]
        for (attribute, port) in attributes {
            let url = "postgres://\(ThrowawayCluster.user)@\(hosts)/postgres\(attribute)"
            try await withClient(at: url) { client in
                try await expectEqual(client.int("select inet_server_port()"), port)
            }
        }
        let readers = Array(repeating: "127.0.0.1:\(readOnly.port)", count: 2).joined(separator: ",")
        try await expectRefusal("postgres://\(ThrowawayCluster.user)@\(readers)/postgres", "session is read-only", .wrongSession)
    }

    @Test("a session that turns out to only read is replaced without an error for anybody; one of the last second stays")
    func readOnlySession() async throws {
        try await withClient(configure: { $0.sharedConnections = 1 }) { client, _ in
            try await client.execute("create table t (a int)")
            // Again on the next session when a busy machine took more than the second.
            try await eventually {
                try await client.execute("set default_transaction_read_only = on")
                let session = try await client.int("select pg_backend_pid()")
                let error = await postgresError { try await client.execute("insert into t values (1)") }
                #expect(error?.isReadOnlyTransaction != false)
                try await expectEqual(client.int("select pg_backend_pid()") == session, error != nil)
                return error != nil
            }
            try await client.execute("select pg_sleep(1.1)")
            try await withThrowingTaskGroup { group in
                for number in 0..<20 {
                    group.addTask { _ = try await client.execute("insert into t values (\(number))") }
                    group.addTask { _ = try await client.execute("select pg_sleep(0.01)") }
                }
                try await group.waitForAll()
            }
            try await expectEqual(client.int("select count(distinct a) from t"), 20)
        }
    }

    @Test("notices of the server are passed on")
    func notices() async throws {
        let notices = Mutex<[String]>([])
        try await withClient(configure: { $0.onNotice = { notice in notices.withLock { $0.append(notice.message) } } }) { client, _ in
            try await client.execute("drop table if exists not_there")
            #expect(notices.withLock { $0 } == ["table \"not_there\" does not exist, skipping"])
        }
    }

    @Test("shutdown lets running work end, rejects new work, and may be called twice")
    func shutdown() async throws {
        try await withClient { client, database in
            try await withClient(at: database.url) { other in
                try await other.withConnection { holder in
                    try await holder.execute("select pg_advisory_lock(1)")
                    let running = Task { try await client.text("select 'done' from pg_advisory_xact_lock(1)") }
                    let waiting: Query = """
                        select count(*) from pg_locks l join pg_database d on d.oid = l.database
                        where d.datname = current_database() and l.locktype = 'advisory' and not l.granted
                        """
                    try await eventually { try await other.int(waiting) == 1 }
                    async let first: Void = client.shutdown(grace: .seconds(30))
                    async let second: Void = client.shutdown(grace: .seconds(30))
                    // Before the shutdown it would wait behind the lock.
                    try await eventually {
                        let error = await postgresError { try await client.execute("select 1", deadline: .milliseconds(50)) }
                        return error?.message == "the client was shut down"
                    }
                    #expect(await postgresError { try await client.withConnection { _ in } }?.kind == .unavailable)
                    try await holder.execute("select pg_advisory_unlock(1)")
                    try await expectEqual(running.value, "done")
                    _ = await (first, second)
                }
            }
        }
    }

    @Test("run serves requests until its task is cancelled, then shuts down")
    func run() async throws {
        let database = try await FreshDatabase()
        let reactor = try Reactor(name: "run")
        reactor.start()
        var configuration = PostgresConfiguration(database.url)
        configuration.connectTimeout = .seconds(20)
        configuration.defaultDeadline = .seconds(60)
        let client = PostgresClient(configuration, reactor: reactor)
        let service = Task { await client.run() }
        try await expectEqual(client.int("select 1"), 1)
        service.cancel()
        await service.value
        #expect(await postgresError { _ = try await client.int("select 1") }?.kind == .unavailable)
        reactor.stop()
    }
}

/// A listener whose connections the kernel accepts, and which never sends anything. With `swallowing` its backlog is full, so that the
/// kernel drops every further SYN.
private final class SilentListener {
    let port: Int
    private let descriptor: Int32
    private var fillers: [Int32] = []

    init(swallowing: Bool = false) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (descriptor, backlog) = (descriptor, Int32(swallowing ? 0 : 8))
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, backlog) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        try #require(isListening)
        port = Int(UInt16(bigEndian: address.sin_port))
        for _ in 0..<(swallowing ? 8 : 0) {
            let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = connect(filler, $0, length) }
            }
            fillers.append(filler)
        }
    }

    deinit {
        for filler in fillers { close(filler) }
        close(descriptor)
    }
}
