import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Reactor
import TestSupport

/// A migrated database with one client as its owner and one as the gateway's role. Tests share it, and each uses new users.
final class StoreFixture: Sendable {
    let database: FreshDatabase
    /// A client as the superuser, for tests that query tables directly.
    let admin: PostgresClient
    /// A client as role `coach_gateway`, as in production.
    let gateway: PostgresClient
    private let reactor: Reactor
    private let pooler: Pooler?
    private let isPooled = ProcessInfo.processInfo.environment["COACH_TEST_POOLER"] == "1"

    /// One database for all tests that do not need an empty one.
    static func shared() async throws -> StoreFixture { try await sharedTask.value }
    private static let sharedTask = Task { try await StoreFixture() }

    private static let template = DatabaseTemplate { database in
        let reactor = try Reactor(name: "migrations")
        reactor.start()
        defer { reactor.stop() }
        let client = StoreFixture.client(database.url, reactor)
        try await Migrator(client: client, directory: Project.migrations).migrate()
        await client.shutdown(grace: .zero)
    }

    /// A new database; `prepare` runs on it before the migrations.
    init(prepare: String? = nil) async throws {
        database = prepare == nil ? try await Self.template.copy() : try await FreshDatabase()
        reactor = try Reactor(name: "store-tests")
        reactor.start()
        admin = StoreFixture.client(database.url, reactor)
        if let prepare {
            try await database.psql(prepare)
            try await Migrator(client: admin, directory: Project.migrations).migrate()
        }
        let direct = try Project.url(database.url, user: "coach_gateway")
        // COACH_TEST_POOLER=1: the same tests through PgBouncer in transaction mode.
        pooler = isPooled ? try await Pooler(inFrontOf: database.url, users: ["coach_gateway": ""]) : nil
        gateway = StoreFixture.client(
            try pooler?.url(direct) ?? direct, reactor, listeningAt: direct, statements: pooler == nil ? .prepared : .unnamed)
    }

    deinit {
        let (admin, gateway, reactor) = (admin, gateway, reactor)
        // Not awaited: it may run for a moment after the test.
        Task {
            await admin.shutdown(grace: .zero)
            await gateway.shutdown(grace: .zero)
            reactor.stop()
        }
    }

    /// A started client.
    static func client(
        _ url: String, _ reactor: Reactor, listeningAt listenURL: String? = nil, statements: PostgresConfiguration.StatementMode = .prepared
    ) -> PostgresClient {
        var configuration = PostgresConfiguration(url)
        configuration.listenConnectionString = listenURL
        configuration.statements = statements
        // Longer than in production, because the machine may be busy.
        configuration.statementTimeout = .seconds(20)
        configuration.connectTimeout = .seconds(10)
        configuration.defaultDeadline = .seconds(30)
        configuration.sharedConnections = 2
        let client = PostgresClient(configuration, reactor: reactor)
        client.start()
        return client
    }

    /// The ports to turns of an instance; by default of an unregistered one, because the owner matters only to leases and checkpoints.
    func turns(_ tiers: TierBook = TierBook(), owner: TurnOwner = TurnOwner(instance: UUID(), epoch: 1)) -> TurnPorts {
        TurnPorts(client: gateway, owner: { owner }, tiers: tiers)
    }

    /// The client of a second instance. The caller shuts it down.
    func anotherGateway() throws -> PostgresClient {
        let direct = try Project.url(database.url, user: "coach_gateway")
        return StoreFixture.client(
            try pooler?.url(direct) ?? direct, reactor, listeningAt: direct, statements: pooler == nil ? .prepared : .unnamed)
    }

    func personas(_ tiers: TierBook = TierBook()) -> PersonaRepository { .postgres(client: gateway, tiers: { tiers }) }
    var conversations: ConversationRepository { .postgres(client: gateway) }
    /// CONTRACT §1: 600 requests a minute by default.
    func requests(perMinute: Int = 600) -> RequestCounter {
        .postgres(client: gateway) { TierBook([Tier("free", requestsPerMinute: perMinute)]) }
    }

    /// A single value as text, queried as the superuser.
    func value(_ query: Query) async throws -> String? {
        try await admin.query(query) { rows in try rows.only { row in try row.value(0, as: String?.self) } }
    }

    /// A count, queried as the superuser.
    func count(_ query: Query) async throws -> Int {
        try await admin.query(query) { rows in try rows.only { row in try row.value(0) } }
    }

    /// Changes rows of the ledger, for days of the past: in the only way in which it does not refuse that, as a superuser who stops its triggers.
    func rewriteLedger(_ statement: Query) async throws {
        try await admin.withTransaction { lease in
            try await lease.execute("set local session_replication_role = replica")
            try await lease.execute(statement)
        }
    }

    /// Runs a statement as a user through PostgREST.
    @discardableResult
    func postgrest(_ caller: Caller, _ statement: Query) async throws -> Int {
        try await admin.withTransaction { lease in
            try await lease.execute(
                "select set_config('request.jwt.claims', \(caller.claims), true), set_config('role', 'authenticated', true)")
            return try await lease.execute(statement)
        }
    }

    /// Removes the checkpoints of turns that have ended; returns their number.
    func sweep() async throws -> Int {
        try await gateway.query("select gateway.sweep_checkpoints()") { rows in try rows.only { row in try row.value(0) } }
    }

    /// Writes the entitlement of a purchase. `seconds`: until access ends; negative when it has ended.
    func entitle(_ caller: Caller, to entitlement: String, for seconds: Int, isTrial: Bool = false) async throws {
        try await admin.execute(
            """
            insert into gateway.user_entitlements (user_id, entitlement, is_trial, access_until)
            values (\(caller.userID.uuid), \(entitlement), \(isTrial), now() + make_interval(secs => \(seconds)))
            on conflict (user_id, entitlement, is_trial) do update set access_until = excluded.access_until
            """)
    }

    /// A published persona of a new creator.
    func persona(
        status: String = "published", visibility: String = "listed", of creator: UserID = .random(), name: String = "Maya",
        domain: Domain? = nil
    ) async throws -> PersonaID {
        let id = PersonaID.random()
        try await admin.execute("insert into public.users (id) values (\(creator.uuid)) on conflict do nothing")
        try await admin.execute(
            """
            insert into public.coaching_personas (id, user_id, visibility, name, domain, tone, methodology, personality)
            values (
                \(id.uuid), \(creator.uuid), \(visibility), \(name), to_jsonb(\(domain?.rawValue ?? "")::text), '{"style": "calm"}', '["GROW", "tiny steps"]',
                '"Kind."')
            """)
        guard status != "draft" else { return id }
        try await admin.execute("select gateway.publish_persona(\(creator.uuid), \(id.uuid))")
        if status != "published" { try await admin.execute("update public.coaching_personas set status = \(status) where id = \(id.uuid)") }
        return id
    }
}

/// Where the repository's files are.
extension Caller {
    static func someone(_ userID: UserID = .random(), role: Role? = nil) -> Caller {
        let metadata = role.map { #","app_metadata":{"role":"\#($0.rawValue)"}"# } ?? ""
        return Caller(
            userID: userID, role: role, claims: #"{"sub":"\#(userID)","role":"authenticated"\#(metadata)}"#,
            expiresAt: Date(timeIntervalSinceNow: 3_600))
    }
}

extension RiskAssessment {
    static func danger(_ tier: RiskTier) -> RiskAssessment {
        RiskAssessment(tier: tier, categories: [.suicide], subject: .user, patterns: ["wish-to-die"])
    }
}

extension BeginTurnResult {
    struct Unexpected: Error {
        var opening: BeginTurnResult
    }

    var begun: TurnContext {
        get throws {
            guard case .begun(let context, _, _) = self else { throw Unexpected(opening: self) }
            return context
        }
    }

    /// The user's message of a turn that has begun.
    var message: String {
        get throws {
            guard case .begun(_, let message, _) = self else { throw Unexpected(opening: self) }
            return message
        }
    }

    var known: KnownTurn {
        get throws {
            guard case .known(let turn, _) = self else { throw Unexpected(opening: self) }
            return turn
        }
    }

    var rejection: Rejection {
        get throws {
            guard case .rejected(let rejection, _) = self else { throw Unexpected(opening: self) }
            return rejection
        }
    }
}

extension TurnReceipt {
    /// A complete answer that cost 0.000123456 dollars.
    static func complete(
        _ identity: TurnIdentity, of caller: Caller, _ content: String = "Good question.", domain: Domain? = .mindset,
        cost: Nanodollars? = Nanodollars(123_456), risk: RiskAssessment = .calm
    ) -> TurnReceipt {
        TurnReceipt(
            userID: caller.userID, identity: identity, status: .complete, finishReason: .stop, content: content,
            bill: TurnBill(
                name: ModelName(provider: "simulator", model: "coach-sim"),
                usage: TokenUsage(input: 90, cachedInput: 10, cacheWrite: 0, output: 20, reasoning: 5), cost: cost, estimated: false),
            domain: DomainDecision(domain: domain, confidence: domain == nil ? 0 : 0.75, source: domain == nil ? .abstained : .message),
            risk: risk, errorCode: nil, timeToFirstTokenMilliseconds: 120, durationMilliseconds: 900)
    }

    /// A receipt without text, of a call that no provider accepted.
    static func failed(_ identity: TurnIdentity, of caller: Caller) -> TurnReceipt {
        var receipt = complete(identity, of: caller, "")
        receipt.status = .failed
        receipt.finishReason = nil
        receipt.bill = nil
        receipt.errorCode = "EXT_4001"
        receipt.timeToFirstTokenMilliseconds = nil
        return receipt
    }
}

extension RequestCounter {
    /// Counts a request that is not of a turn.
    func take(_ caller: Caller) async throws -> CountedRequest { try await take(caller, false) }
}
