import CoachCore
import CoachStore
import Foundation
import Logging
import OperatorAPI
import PostgresClient
import Reactor
import RelayTestSupport
import TestSupport
import Testing

@testable import coach_gateway

/// Of configurations that are read here; no token is made with it.
let tokenSecret = String(repeating: "secret", count: 8)

private let migrated = DatabaseTemplate { database in
    let reactor = try Reactor(name: "migrations")
    reactor.start()
    defer { reactor.stop() }
    let client = PostgresClient(PostgresConfiguration(database.url), reactor: reactor)
    client.start()
    try await Migrator(client: client, directory: Project.migrations).migrate()
    await client.shutdown(grace: .zero)
}

@Suite("Large results beside a stream")
struct LargeResultTests {
    @Test("8 MiB of text of other instances' turns, running and orphaned, delay no token by more than 5 ms")
    func texts() async throws {
        let database = try await migrated.copy()
        let turns = (0..<128).map { _ in (user: UserID.random(), turn: TurnID.random()) }
        try await Parts.run(database) { parts in
            try await parts.local.instance.registerWhenReachable()
            try await insert(turns, of: parts.local.instance.id, database)
            let cursors = turns.map { TurnCursor(userID: $0.user, turnID: $0.turn, afterByte: 0) }
            try await parts.expectNoDelay("running") {
                let bytes = try await parts.turns.recovery.tail(cursors).reduce(0) { $0 + $1.text.utf8.count }
                #expect(bytes == 8 << 20)
            }
            try await parts.expectNoDelay("orphaned") {
                var (tried, bytes): ([TurnID], Int) = ([], 0)
                while case let lot = try await parts.turns.recovery.orphans(tried), !lot.isEmpty {
                    tried += lot.map(\.facts.identity.turnID)
                    bytes += lot.reduce(0) { $0 + $1.content.utf8.count }
                }
                #expect(bytes == 8 << 20)
            }
        }
    }

    @Test("a page of a creator's personas, 5 MB of JSON, delays no token by more than 5 ms")
    func personas() async throws {
        let database = try await migrated.copy()
        let creator = UserID.random()
        try await database.psql(
            """
            insert into public.users (id) values ('\(creator)');
            insert into public.coaching_personas (user_id, name, tone, methodology, personality)
            select '\(creator)', 'Maya', content, content, content
            from generate_series(1, 100),
                (select to_jsonb(array_agg('Step ' || n)) from generate_series(1, 1300) n) as example (content);
            """)
        let caller = Caller(
            userID: creator, role: .creator,
            claims: #"{"sub":"\#(creator)","role":"authenticated","app_metadata":{"role":"creator"}}"#,
            expiresAt: Date(timeIntervalSinceNow: 3_600))
        try await Parts.run(database) { parts in
            let personas = parts.resources.personas
            try await parts.expectNoDelay("personas") {
                let page = try await personas.own(caller, PageRequest(limit: 100))
                #expect(page.items.count == 100)
            }
        }
    }

    /// Turns of an earlier process of an instance, with 64 KiB of text each.
    private func insert(_ turns: [(user: UserID, turn: TurnID)], of instance: UUID, _ database: FreshDatabase) async throws {
        let rows = turns.enumerated().map { "(\($0), '\($1.user)'::uuid, '\($1.turn)'::uuid)" }.joined(separator: ",")
        try await database.psql(
            """
            create table public.example as select * from (values \(rows)) as row (n, user_id, turn_id);
            insert into gateway.running_turns (
                user_id, conversation_id, turn_id, attempt, user_message_id, message_id, account_id, day, started_at, owner_instance,
                owner_epoch, risk, saved_at)
            select user_id, turn_id, turn_id, 1, turn_id, turn_id, user_id, current_date, now(), '\(instance)', 1,
                '{"tier": 0, "categories": [], "subject": "unclear", "patterns": []}', now()
            from public.example;
            insert into gateway.checkpoints (instance, epoch, turns, attempts, from_bytes, to_bytes, offsets, released_text)
            select '\(instance)', 1, array_agg(turn_id order by n), array_agg(1), array_agg(0), array_agg(65536), array_agg(65536 * n order by n),
                convert_to(repeat('ü', 32768 * 128), 'UTF8')
            from public.example;
            """)
    }
}

@Suite("Checkpoints beside turns")
struct CheckpointConnectionTests {
    @Test("turns whose statements wait delay neither a lease nor a checkpoint")
    func waitingTurns() async throws {
        let database = try await migrated.copy()
        try await Parts.run(database) { parts in
            try await parts.local.instance.registerWhenReachable()
            let (short, recovery) = (parts.databases.short, parts.turns.recovery)
            try await withThrowingTaskGroup(of: Void.self) { group in
                // The simulated fault, on all connections of turns.
                for _ in 0..<4 { group.addTask { try await short.execute("select pg_sleep(1.5)") } }
                try await eventually("waiting statements") { try await database.waiting == "4" }
                let began = ContinuousClock.now
                _ = try await recovery.renewLease()
                _ = try await recovery.checkpoint([], 0)
                #expect(.now - began < .milliseconds(500))
                #expect(try await database.waiting == "4")
                try await group.waitForAll()
            }
        }
    }
}

extension FreshDatabase {
    /// How many connections sleep.
    fileprivate var waiting: String {
        get async throws {
            try await psql("select count(*) from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()")
        }
    }
}

/// The parts of a gateway that read from the database, with a stream on the reactor that its turns share.
private struct Parts {
    let local: LocalInstance
    let turns: TurnParts
    let resources: ResourceFeatures
    let databases: Databases
    private let stream: ProbeStream
    private let thread: ThreadProbe

    /// Runs `body` with the parts, and stops them.
    static func run(_ database: FreshDatabase, _ body: (Parts) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coach-gateway-test-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = try Project.url(database.url, user: "coach_gateway")
        let environment = [
            "COACH_ENV": "development", "COACH_JWT_SECRET": tokenSecret, "DATABASE_URL": url,
            "COACH_ROOT": Project.root.path, "COACH_STATE_DIR": folder.path, "COACH_SIMULATOR_URL": "http://127.0.0.1:1/v1",
        ]
        let (read, findings) = GatewayConfiguration.read(Settings(environment: environment), environment: environment)
        let configuration = try #require(read, "\(findings)")
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let reactor = try Reactor(name: "relay")
        reactor.start()
        defer { reactor.stop() }
        let databases = try Databases(configuration, url: url, logger: logger, reactor: reactor)
        databases.start()
        defer { databases.stop() }
        for (_, client) in databases.all { client.start() }
        let failure: (any Error)?
        do {
            try await body(try Parts(configuration, environment, databases, reactor, logger))
            failure = nil
        } catch {
            failure = error
        }
        for (_, client) in databases.all { await client.shutdown(grace: .zero) }
        if let failure { throw failure }
    }

    private init(
        _ configuration: GatewayConfiguration, _ environment: [String: String], _ databases: Databases, _ reactor: Reactor, _ logger: Logger
    ) throws {
        let documents = EditableDocuments(try #require(ProductFiles.load(root: configuration.root, environment: environment).files))
        local = try LocalInstance(configuration, database: databases.short, logger: logger)
        self.databases = databases
        turns = TurnParts(
            configuration, local: local, documents: documents, databases: databases, longestAnswers: [:], reactor: reactor,
            logger: logger)
        resources = ResourceFeatures(
            databases: databases, configuration: configuration, documents: documents,
            documentStore: .postgres(client: databases.resources),
            figureEvents: FigureEvents(live: .postgres(client: databases.long), isOpen: { true }))
        stream = try ProbeStream(reactor)
        thread = ThreadProbe(reactor)
    }

    /// Expects that no token of the stream is delayed by more than 5 ms while `body` runs.
    func expectNoDelay(_ what: String, during body: () async throws -> Void) async throws {
        let (stream, thread) = (stream, thread)
        try await eventually("the stream") { stream.tokens > 2 && thread.rounds > 2 }
        stream.reset()
        thread.reset()
        try await body()
        let (tokens, rounds) = (stream.tokens, thread.rounds)
        try await eventually("the next tokens") { stream.tokens > tokens + 1 && thread.rounds > rounds + 1 }
        #expect(stream.longest < .milliseconds(5), "\(what): \(stream.longest)")
        // Also when no token is on its way: the next would wait.
        #expect(thread.longest < .milliseconds(5), "\(what): \(thread.longest)")
    }
}
