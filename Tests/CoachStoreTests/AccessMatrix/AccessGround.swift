import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

/// A database in which one user has a row in every table, and functions that run statements as an actor.
struct AccessGround: Sendable {
    enum Answer: Equatable {
        /// The number of rows that were returned or changed.
        case rows(Int)
        /// Rejected because of missing permission.
        case denied
        /// Permitted, but failed for another reason.
        case failed
    }

    let store: StoreFixture
    private let owner = UUID()
    private let other = UUID()
    private let account: String

    static func on(_ server: AccessMatrixTests.Server) async throws -> AccessGround {
        switch server {
        case .plain: try await plain.value
        case .supabase: try await supabase.value
        }
    }

    private static let plain = Task { try await AccessGround(StoreFixture()) }
    private static let supabase = Task { try await AccessGround(StoreFixture(prepare: SupabaseLike.sql)) }

    private init(_ store: StoreFixture) async throws {
        self.store = store
        for user in [owner, other] {
            if try await store.value("select to_regclass('auth.users')::text") != nil {
                try await store.admin.execute("insert into auth.users (id) values (\(user))")
            }
        }
        // Through the turn functions, so that they are tested on this kind of server.
        let (caller, neighbour) = (Caller.someone(UserID(owner)), Caller.someone(UserID(other)))
        try await store.turns().talk(neighbour, "I live next door")
        let persona = try await store.persona(of: caller.userID)
        let opening = try await store.turns(TierBook(reservePerTurn: Nanodollars(1))).begin(
            caller, TurnRequest(message: "Hello", personaID: persona), risk: .danger(.concern))
        try await store.turns().finish(.complete(try opening.begun.identity, of: caller))
        // A running turn with released text.
        let instance = GatewayInstance(id: UUID(), client: store.gateway)
        try await instance.register()
        let turns = store.turns(owner: try instance.owner())
        let running = try await turns.begin(caller, TurnRequest(message: "Go on"), risk: .calm).begun.identity
        _ = try await turns.checkpoint([.first(running, of: caller, "Well,")])
        account = try await store.value("select account_id::text from public.users where id = \(owner)") ?? ""
        try await store.admin.execute("insert into public.context_profiles (user_id) values (\(owner))")
        try await store.admin.execute("update public.context_profiles set goals = '[\"x\"]' where user_id = \(owner)")
        try await store.admin.execute("insert into gateway.jobs (user_id, kind, due_at, max_attempts) values (\(owner), 'test', now(), 1)")
        try await store.admin.execute("insert into gateway.done_jobs (user_id, kind, idempotency_key) values (\(owner), 'test', 'k')")
        try await store.admin.execute(
            "insert into gateway.idempotent_requests (user_id, key, request_hash) values (\(owner), 'k', '')")
        try await store.admin.execute("insert into public.message_words values (\(owner), gen_random_uuid(), '')")
        try await store.admin.execute("insert into gateway.search_progress values (\(owner), 'simple', 0, gen_random_uuid())")
        try await store.admin.execute("insert into gateway.running_summaries values (\(owner), now(), gen_random_uuid(), 1, 1000, 0, 0)")
        try await store.admin.execute("insert into public.consents values (\(owner), 1, 'memory', '1', true)")
        try await store.admin.execute(
            "insert into public.reports (user_id, persona_id, reason) values (\(owner), gen_random_uuid(), 'other')")
        try await store.admin.execute("insert into gateway.removal_confirmations values (\(owner), '', now())")
        try await store.admin.execute(
            """
            insert into gateway.crisis_events (account_id, day, turn_id, attempt, stage, tier, patterns, action, bucket, is_counted)
            values (\(account)::uuid, now(), gen_random_uuid(), 1, 'grammar', 2, '{}', 'card', now(), true)
            """)
        try await store.admin.execute("insert into public.push_tokens (user_id, token) values (\(owner), 'abc')")
        try await store.admin.execute(
            "insert into public.share_links (persona_id, user_id, token) values (\(persona.uuid), \(owner), gen_random_uuid()::text)")
        try await store.admin.execute("insert into public.persona_avatars values (\(persona.uuid), 'image/png', '')")
        try await store.admin.execute(
            "insert into public.persona_redemptions values (\(owner), \(persona.uuid), gen_random_uuid())")
        try await store.admin.execute("insert into gateway.shared_budgets (scope, id, day) values ('installation', '', now())")
        let edit = DocumentEdit(name: DocumentName(kind: .limits, id: "default"), expectedVersion: 1, content: .body([:]))
        _ = try await VersionedDocuments.postgres(client: store.gateway).put(.someone(UserID(other), role: .operator), edit)
        _ = try await BillingInbox.postgres(client: store.gateway, includingSandbox: false).store(Self.grant(to: caller.userID))
        try await store.admin.execute(
            """
            insert into gateway.billing_figures (event_number, source, event_id, occurred_at, kind, purchase, store, renews)
            values (-1, 'stripe', 'y', now(), 'purchase', 'x', 'x', true)
            """)
    }

    private static func grant(to user: UserID) throws -> BillingDelivery {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let event = BillingEvent(
            source: .operator, id: UUID().uuidString, occurredAt: try #require(BillingInstant(milliseconds: now)),
            subject: [SubscriberID(user)], change: .grant(entitlement: "pro", until: .never))
        return BillingDelivery(source: .operator, id: event.id, type: nil, environment: .production, body: [], effect: .event(event))
    }

    /// A set of names, queried as the superuser.
    func names(_ query: Query) async throws -> Set<String> {
        Set(try await store.admin.query(query) { rows in try rows.map { row in try row.value(0, as: String.self) } })
    }

    /// Whether an actor can do something with the owner's rows of a table: it is permitted and affects at least one row.
    func isAllowed(_ verb: Verb, on table: TableExpectation, for actor: Actor) async throws -> Bool {
        let rows: String =
            switch table.name {
            case "public.users": "where id = :owner"
            case "public.published_personas", "public.database_epoch", "gateway.schema_migrations", "gateway.instances",
                "gateway.schema_minimum", "gateway.tombstone_key", "gateway.removed_users",
                "gateway.checkpoints", "gateway.audit_log", "gateway.documents", "gateway.document_versions",
                "gateway.subscribers", "gateway.subscriber_ids", "gateway.billing_events", "gateway.billing_figures",
                "gateway.unfolded_figures", "gateway.shared_budgets",
                "gateway.persona_counter", "gateway.removed_personas":
                ""
            case "public.persona_versions", "public.persona_avatars":
                "where persona_id in (select id from public.coaching_personas where user_id = :owner)"
            case "public.usage_logs", "gateway.crisis_events": "where account_id = :account"
            default: "where user_id = :owner"
            }
        let statement: String =
            switch verb {
            case .select: "select 1 from \(table.name) \(rows)"
            case .insert: table.insert
            case .update: "update \(table.name) \(table.update) \(rows)"
            case .delete: "delete from \(table.name) \(rows)"
            }
        switch try await attempt(statement, as: actor) {
        case .rows(let count): return count > 0
        case .denied: return false
        case .failed: return verb == .insert
        }
    }

    /// Runs a statement as an actor and rolls it back.
    func attempt(_ statement: String, as actor: Actor) async throws -> Answer {
        let sql = statement.replacing(":owner", with: "'\(owner.uuidString.lowercased())'").replacing(":account", with: "'\(account)'")
        return try await store.admin.withConnection { lease in
            try await lease.execute("begin")
            for (name, value) in actor.settings { try await lease.execute("select set_config(\(name), \(value), true)") }
            if let subject = actor.subject(owner: owner.uuidString.lowercased(), other: other.uuidString.lowercased()) {
                try await lease.execute("select set_config('request.jwt.claim.sub', \(subject), true)")
            }
            let claims = actor.claims(owner: owner.uuidString.lowercased(), other: other.uuidString.lowercased())
            try await lease.execute("select set_config('request.jwt.claims', \(claims), true), set_config('role', \(actor.role), true)")
            let answer: Answer
            do {
                answer = .rows(try await lease.execute(Query(unsafeSQL: sql)))
            } catch let error as PostgresError where error.kind == .server {
                // 55000: a view with a join cannot be inserted into.
                answer = ["42501", "55000"].contains(error.sqlState) ? .denied : .failed
            }
            try await lease.execute("rollback")
            return answer
        }
    }
}

/// The state of a Supabase project before the gateway's migrations: schema auth with its tables and functions, whose grants the migrations
/// cannot change, and API roles that get all privileges on every new object in schema public.
enum SupabaseLike {
    static let sql = """
        do $$ begin
            if not exists (select from pg_roles where rolname = 'anon') then create role anon nologin noinherit; end if;
            if not exists (select from pg_roles where rolname = 'authenticated') then create role authenticated nologin noinherit; end if;
        exception when duplicate_object or unique_violation then null;
        end $$;
        create schema auth;
        create table auth.users (id uuid primary key, email text, created_at timestamptz default now());
        create function auth.uid() returns uuid language sql stable as $$
            select coalesce(
                nullif(current_setting('request.jwt.claim.sub', true), ''),
                (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'))::uuid $$;
        create function auth.role() returns text language sql stable as $$
            select coalesce(
                nullif(current_setting('request.jwt.claim.role', true), ''),
                (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role'))::text $$;
        create function auth.jwt() returns jsonb language sql stable as $$
            select coalesce(
                nullif(current_setting('request.jwt.claim', true), ''), nullif(current_setting('request.jwt.claims', true), ''))::jsonb $$;
        grant usage on schema auth to anon, authenticated;
        alter default privileges in schema public grant all on tables to anon, authenticated;
        alter default privileges in schema public grant all on functions to anon, authenticated;
        alter default privileges in schema public grant all on sequences to anon, authenticated;
        """
}
