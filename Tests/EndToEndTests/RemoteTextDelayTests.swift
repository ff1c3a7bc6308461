import CoachCore
import Foundation
import Logging
import Reactor
import RelayTestSupport
import TestSupport
import Testing

@testable import coach_gateway

@Suite("Text of other instances' turns beside a stream")
struct RemoteTextDelayTests {
    @Test("8 MiB of it, of running and of orphaned turns, delay no token by more than 5 ms")
    func delay() async throws {
        let database = try await Database.ofItsOwn()
        let turns = (0..<128).map { _ in (user: UserID.random(), turn: TurnID.random()) }
        try await insert(turns, database)
        let folder = try Folder()
        let environment = [
            "COACH_ENV": "development", "COACH_JWT_SECRET": Token.secret, "DATABASE_URL": database.gatewayURL,
            "COACH_ROOT": Program.root.path, "COACH_STATE_DIR": folder.path, "COACH_SIMULATOR_URL": "http://127.0.0.1:1/v1",
        ]
        let (read, findings) = GatewayConfiguration.read(Settings(environment: environment), environment: environment)
        let configuration = try #require(read, "\(findings)")
        let files = try #require(ProductFiles.load(root: configuration.root, environment: environment).files)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let reactor = try Reactor(name: "relay")
        reactor.start()
        defer { reactor.stop() }
        let databases = try Databases(configuration, url: database.gatewayURL, logger: logger, reactor: reactor)
        databases.start()
        defer { databases.stop() }
        for (_, client) in databases.all { client.start() }
        let local = try LocalInstance(configuration, database: databases.short, logger: logger)
        try await local.instance.registerWhenReachable()
        let recovery = TurnParts(
            configuration, local: local, documents: EditableDocuments(files), databases: databases, reactor: reactor, logger: logger
        ).recovery

        let stream = try ProbeStream(reactor)
        try await eventually("the stream") { stream.tokens > 2 }
        let cursors = turns.map { TurnCursor(userID: $0.user, turnID: $0.turn, afterByte: 0) }
        for work in ["running", "orphaned"] {
            stream.reset()
            var bytes = 0
            if work == "running" {
                bytes = try await recovery.tail(cursors).reduce(0) { $0 + $1.text.utf8.count }
            } else {
                var tried: [TurnID] = []
                while case let lot = try await recovery.orphans(tried), !lot.isEmpty {
                    #expect(lot.count <= 64)
                    tried += lot.map(\.facts.identity.turnID)
                    bytes += lot.reduce(0) { $0 + $1.content.utf8.count }
                }
            }
            #expect(bytes == 8 << 20, "\(work)")
            let tokens = stream.tokens
            try await eventually("the next tokens") { stream.tokens > tokens + 1 }
            #expect(stream.longest < .milliseconds(5), "\(work): \(stream.longest)")
        }
        for (_, client) in databases.all { await client.shutdown(grace: .zero) }
    }

    /// Turns of an instance that no longer exists, with 64 KiB of text each.
    private func insert(_ turns: [(user: UserID, turn: TurnID)], _ database: Database) async throws {
        let rows = turns.enumerated().map { "(\($0), '\($1.user)'::uuid, '\($1.turn)'::uuid)" }.joined(separator: ",")
        try await database.fresh.psql(
            """
            create table public.example as
                select *, gen_random_uuid() as owner from (values \(rows)) as row (n, user_id, turn_id);
            update public.example set owner = (select owner from public.example where n = 0);
            insert into gateway.running_turns (
                user_id, conversation_id, turn_id, attempt, user_message_id, message_id, account_id, day, started_at, owner_instance,
                owner_epoch, risk, saved_at)
            select user_id, turn_id, turn_id, 1, turn_id, turn_id, user_id, current_date, now(), owner, 1,
                '{"tier": 0, "categories": [], "subject": "user", "patterns": []}', now()
            from public.example;
            insert into gateway.checkpoints (instance, epoch, turns, attempts, from_bytes, to_bytes, offsets, released_text)
            select owner, 1, array_agg(turn_id order by n), array_agg(1), array_agg(0), array_agg(65536), array_agg(65536 * n order by n),
                convert_to(repeat('x', 65536 * 128), 'UTF8')
            from public.example group by owner;
            """)
    }
}
