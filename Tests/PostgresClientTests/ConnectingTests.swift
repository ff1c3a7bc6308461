import Foundation
import PostgresClient
import Reactor
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ConnectingTests {
    @Test("by Unix socket, by address, by name that is looked up, by keywords, by a list of hosts of which one is there")
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

    @Test("settings, time limits and name of the session are what the configuration says")
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

    @Test("what cannot work is said in words, without the password")
    func refusals() async throws {
        let database = try await FreshDatabase()
        for (connection, words) in [
            ("postgres://user:canary@[nonsense", "the connection string is not understood"),
            ("postgres://user:canary@host.invalid/db", "the host has no address"),
            ("postgres://user:canary@127.0.0.1:1/db", "Connection refused"),
            (database.url + "_not_there", "does not exist"),
        ] {
            try await withClient(at: connection, configure: { $0.connectTimeout = .seconds(5) }) { client in
                let error = await postgresError { _ = try await client.int("select 1", deadline: .seconds(10)) }
                #expect(error?.kind == .unavailable)
                #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
                #expect(error?.message.contains("canary") == false)
                guard case .unreachable(_, let reason) = client.status else {
                    Issue.record("the status must say that the database is unreachable")
                    return
                }
                #expect(reason.message == error?.message)
            }
        }
    }

    @Test("an address that swallows packets costs the connect timeout")
    func blackHole() async throws {
        // A socket that listens, whose owner never answers: the handshake hangs.
        let silent = try SilentListener()
        try await withClient(at: "postgres://u@127.0.0.1:\(silent.port)/db", configure: { $0.connectTimeout = .milliseconds(100) }) {
            client in
            let error = await postgresError { _ = try await client.int("select 1") }
            #expect(error?.kind == .unavailable)
            #expect(error?.message.contains("no connection within") == true)
        }
    }

    @Test("shutdown lets running work end, refuses new work, and may be asked for twice")
    func shutdown() async throws {
        try await withClient { client, database in
            try await withClient(at: database.url) { other in
                try await other.withConnection { holder in
                    try await holder.execute("select pg_advisory_lock(1)")
                    let running = Task { try await client.text("select 'done' from pg_advisory_xact_lock(1)") }
                    let waiting: Query = "select count(*) from pg_locks where locktype = 'advisory' and not granted"
                    try await expectEventually { try await other.int(waiting) == 1 }
                    async let first: Void = client.shutdown(grace: .seconds(30))
                    async let second: Void = client.shutdown(grace: .seconds(30))
                    try await expectEventually {
                        await postgresError { try await client.execute("select 1") }?.message == "the client was shut down"
                    }
                    #expect(await postgresError { try await client.withConnection { _ in } }?.kind == .unavailable)
                    try await holder.execute("select pg_advisory_unlock(1)")
                    try await expectEqual(running.value, "done")
                    _ = await (first, second)
                }
            }
        }
    }

    @Test("run serves until its task is cancelled, and cleans up")
    func run() async throws {
        let database = try await FreshDatabase()
        let reactor = try Reactor(name: "run")
        reactor.start()
        let client = PostgresClient(PostgresConfiguration(database.url), reactor: reactor)
        let service = Task { await client.run() }
        try await expectEqual(client.int("select 1"), 1)
        service.cancel()
        await service.value
        #expect(await postgresError { _ = try await client.int("select 1") }?.kind == .unavailable)
        reactor.stop()
    }
}

/// Accepts connections (the kernel does) and never says anything.
private final class SilentListener {
    let port: Int
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 8) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        try #require(isListening)
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit {
        close(descriptor)
    }
}
