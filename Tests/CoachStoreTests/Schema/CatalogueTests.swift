import CoachCore
import CoachStore
import PostgresClient
import Testing

/// Checks in the system catalogue that the tables can be distributed by user (DESIGN, "user_id comes first").
@Suite("Table structure")
struct CatalogueTests {
    /// Tables without a user: reference data, the ledger, and the gateway's own.
    private static let others: Set<String> = [
        "public.coaching_personas", "public.persona_versions", "public.share_links", "public.persona_avatars", "public.usage_logs",
        "gateway.crisis_events",
        "public.database_epoch",
        "gateway.schema_migrations",
        "gateway.schema_minimum", "gateway.instances", "gateway.checkpoints", "gateway.tombstone_key", "gateway.removed_users",
        "gateway.session_key",
        // By the senders' ids, of which some are users.
        "gateway.subscribers", "gateway.subscriber_ids", "gateway.billing_events", "gateway.billing_figures", "gateway.shared_budgets",
        "gateway.subscription_figures", "gateway.subscription_changes", "gateway.subscription_rollup", "gateway.unfolded_figures",
        "gateway.persona_counter", "gateway.removed_personas",
        "gateway.audit_log", "gateway.documents", "gateway.document_versions",
        // Keyed by device token.
        "gateway.push_token_owners",
        // Jobs are taken across users, and some have no user; idempotency keys of users begin with the user.
        "gateway.jobs", "gateway.done_jobs",
        // Rollups of the ledger, by account where they are not sums over all.
        "gateway.usage_quarters", "gateway.usage_hours",
        "gateway.usage_days", "gateway.key_quarters", "gateway.key_hours", "gateway.key_days", "gateway.key_weeks",
        "gateway.persona_quarters",
        "gateway.persona_days", "gateway.account_usage_days",
        "gateway.account_days", "gateway.conversation_days",
        "gateway.activity_days", "gateway.retention_weeks", "gateway.account_weeks",
        "gateway.error_quarters", "gateway.error_days", "gateway.latency_quarters", "gateway.latency_hours",
        "gateway.latency_days", "gateway.domain_latency_quarters", "gateway.domain_latency_hours", "gateway.rollup_state",
        "gateway.rollup_marks", "gateway.figures",
        "gateway.alerts", "gateway.instance_readings", "gateway.circuit_readings",
    ]

    /// The column with the user, for the tables of users.
    private static let usersTables: Query = """
        (select c.oid, format('%s.%s', n.nspname, c.relname) as name, a.attnum
        from pg_class c
        join pg_namespace n on n.oid = c.relnamespace and n.nspname in ('public', 'gateway')
        join pg_attribute a on a.attrelid = c.oid and a.attname = case when c.relname = 'users' then 'id' else 'user_id' end
        where c.relkind in ('r', 'p') and not format('%s.%s', n.nspname, c.relname) = any (\(Array(others)))) t
        """

    private func names(_ query: Query) async throws -> Set<String> {
        let store = try await StoreFixture.shared()
        return Set(try await store.admin.query(query) { rows in try rows.map { row in try row.value(0, as: String.self) } })
    }

    /// PostgreSQL refuses a new column with a default while such a function is there (15.20 and the releases of that day).
    @Test("no function whose body is parsed takes the row of a table")
    func rowArguments() async throws {
        let found = try await names(
            """
            select distinct p.oid::regprocedure::text from pg_proc p
            join pg_namespace n on n.oid = p.pronamespace and n.nspname in ('public', 'gateway', 'operator')
            cross join unnest(p.proargtypes::oid[]) as argument (type)
            join pg_type t on t.oid = argument.type
            join pg_class c on c.oid = t.typrelid and c.relkind in ('r', 'p')
            where p.prosqlbody is not null
            """)
        #expect(found == [])
    }

    @Test("every table has a user column, or is listed as one without a user")
    func tables() async throws {
        let known = try await names("select name from \(Self.usersTables)").union(Self.others)
        let all = try await names(
            """
            select format('%s.%s', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where n.nspname in ('public', 'gateway') and c.relkind in ('r', 'p')
            """)
        #expect(all.subtracting(known) == [])
    }

    @Test("the user comes first in every unique index of a user's table")
    func uniqueIndexes() async throws {
        let wrong = try await names(
            """
            select t.name || ' ' || i.indexrelid::regclass from \(Self.usersTables)
            join pg_index i on i.indrelid = t.oid and i.indisunique and i.indkey[0] <> t.attnum
            """)
        #expect(wrong == [])
        #expect(
            try await names(
                """
                select t.name from \(Self.usersTables)
                where not exists (select from pg_index i where i.indrelid = t.oid and i.indisprimary)
                """)
                == [], "no table without a primary key")
    }

    @Test("foreign keys of a user's table have the user on both sides, and no other table refers to a user's")
    func foreignKeys() async throws {
        let wrong = try await names(
            """
            select k.conname::text from pg_constraint k
            left join \(Self.usersTables) on t.oid = k.conrelid
            left join (select t.* from \(Self.usersTables)) r on r.oid = k.confrelid
            where k.contype = 'f' and (t.oid is not null or r.oid is not null)
                and k.confrelid <> all (array(select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'auth'))
                and (t.oid is null or r.oid is null or k.conkey[1] <> t.attnum or k.confkey[1] <> r.attnum)
            """)
        #expect(wrong == [])
    }

    @Test("the removal of a user removes the rows of every user's table, by name or by cascade")
    func removal() async throws {
        let kept = try await names(
            """
            select t.name from \(Self.usersTables)
            where not exists (
                select from pg_constraint k
                where k.contype = 'f' and k.conrelid = t.oid and k.confrelid = 'public.users'::regclass and k.confdeltype = 'c')
                and not exists (
                    select from pg_proc p
                    where p.oid = 'gateway.delete_user(uuid,integer)'::regprocedure and p.prosrc ~ (replace(t.name, '.', '\\.') || '\\M'))
            """)
        #expect(kept == [])
    }

    @Test("triggers of users' tables read one row, except those that lock the user's change counter")
    func triggers() async throws {
        let wrong = try await names(
            """
            select t.name || ' ' || g.tgname from \(Self.usersTables)
            join pg_trigger g on g.tgrelid = t.oid and not g.tgisinternal and g.tgtype & 1 = 0
            """)
        #expect(wrong == ["public.conversations number_statement", "public.context_profiles number_statement"])
    }

    @Test("triggers of users' rows read and write rows of the same user alone")
    func triggerSources() async throws {
        let store = try await StoreFixture.shared()
        let tables = try await names("select name from \(Self.usersTables)")
        let sources: Query = """
            select distinct p.proname::text, p.prosrc from \(Self.usersTables)
            join pg_trigger g on g.tgrelid = t.oid and not g.tgisinternal and g.tgtype & 1 = 1
            join pg_proc p on p.oid = g.tgfoid
            """
        let found = try await store.admin.query(sources) { rows in
            try rows.map { row in (try row.value(0, as: String.self), TriggerSource(text: try row.value(1))) }
        }
        #expect(found.count > 8 && tables.contains("public.turns"))
        for (name, source) in found { #expect(source.strayStatements(tables: tables).isEmpty, "\(name)") }
    }

    @Test(
        "a trigger's statement that is not limited to the row's user is found",
        arguments: [
            "delete from public.turns t where t.conversation_id = old.id",
            "if exists (select from public.users u where u.id = old.persona_id) then return new",
            "insert into public.messages (id, user_id) values (new.id, (select u.id from public.users u limit 1))",
            "execute format('select count(*) from %I', tg_table_name) into existing",
            "perform gateway.take_change(other)",
        ])
    func strayStatements(statement: String) {
        let limited = "delete from public.turns t where t.user_id = old.user_id and t.conversation_id = old.id"
        let source = TriggerSource(text: "begin -- of public.messages\n \(limited); \(statement); return null; end")
        let found = source.strayStatements(tables: ["public.turns", "public.users", "public.messages"])
        #expect(found.map { $0.trimmingPrefix(while: \.isWhitespace) } == [statement[...]])
    }

    @Test("functions that write messages, turns or conversations assign the change number; triggers do for users' writes")
    func changeNumbers() async throws {
        let wrong = try await names(
            """
            select p.proname || ': ' || left(written.statement[1], 80)
            from pg_proc p join pg_namespace n on n.oid = p.pronamespace
            cross join lateral regexp_matches(
                p.prosrc, '((?:insert into|update) public\\.(?:messages|turns|conversations) [^;]*;)', 'g') as written (statement)
            where n.nspname = 'gateway' and written.statement[1] !~ '\\mchange\\M'
                -- A message shows its turn's domain, and nothing else of it.
                and not (written.statement[1] ~ '^(insert into|update) public\\.turns' and written.statement[1] !~ '\\mdomain =')
                -- No client reads a summary.
                and written.statement[1] !~ '^update public\\.conversations c\\s+set summar'
                -- Its trigger numbers the change.
                and written.statement[1] !~ '^update public\\.conversations c set title ='
            """)
        #expect(wrong == [])
    }

    @Test("functions for a user have the user as their first parameter")
    func functions() async throws {
        // Functions that read or write users' tables filter by the user's id. `begun_answer` only passes the id on.
        let wrong = try await names(
            """
            select p.proname::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
            where n.nspname = 'gateway' and p.prorettype <> 'trigger'::regtype
                and coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) ~ 'gateway\\.user_id\\(\\)|user_id = (uid|\\$1)'
                and p.proname not in ('is_unbound', 'append_audit', 'begun_answer')
                and (p.proargtypes[0] is distinct from 'uuid'::regtype or p.proargnames[1] not in ('uid', 'user_id'))
            """)
        #expect(wrong == [])
    }

    @Test("a turn changes no index of the tables that are updated while it runs, and its own row is written twice")
    func heapOnlyTuples() async throws {
        let store = try await StoreFixture()
        let peer = try await TestInstance(store)
        for number in 0..<100 {
            let caller = Caller.someone()
            let identity = try await peer.begin(caller, "Hello \(number)")
            _ = try await peer.turns.checkpoint([.first(identity, of: caller, "Well")])
            try await peer.turns.finish(.complete(identity, of: caller))
        }
        func updates(_ table: String) async throws -> (all: Int, hot: Int) {
            let statistics: Query = "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relid = \(table)::regclass"
            return try await store.admin.query(statistics) { rows in
                try rows.only { row in (try row.value(0, as: Int.self), try row.value(1, as: Int.self)) }
            }
        }
        // Statistics of a session are published at most once a second, and when it ends.
        while true {
            let (turns, running) = (try await updates("public.turns").all, try await updates("gateway.running_turns").all)
            if turns >= 100, running >= 100 { break }
            try await store.gateway.execute("select pg_stat_force_next_flush()")
            try await Task.sleep(for: .milliseconds(10))
        }
        for table in ["public.turns", "gateway.running_turns", "public.rate_limits"] {
            let (all, hot) = try await updates(table)
            #expect(hot * 10 >= all * 9, "\(table): \(hot) of \(all)")
        }
        #expect(try await updates("public.turns").all == 100)
        #expect(try await updates("public.messages").all == 0)
        #expect(try await store.count("select count(*) from gateway.running_turns") == 0)
    }
}

/// The source of a row's trigger function.
private struct TriggerSource {
    let text: String

    /// Statements that read or write users' tables, run dynamic SQL or call functions, and are not limited to the row's user.
    func strayStatements(tables: Set<String>) -> [String] {
        text.replacing(/--[^\n]*/, with: "").split(separator: ";").map(String.init).filter { statement in
            if statement.contains(/\bexecute\s+format\b/.wordBoundaryKind(.simple)) {
                return !(statement.contains("user_id = $1") && statement.contains(/\busing (new|old)\.user_id\b/.wordBoundaryKind(.simple)))
            }
            let calls = statement.matches(of: /gateway\.\w+\(([^,)]*)/)
            guard calls.allSatisfy({ $0.1.contains(/^(new|old)\.(user_id|id)$/) }) else { return true }
            let uses = { (table: String) in ["from ", "into ", "update ", "join "].contains { statement.contains($0 + table) } }
            guard tables.contains(where: uses) else { return false }
            // By default a word is Unicode's, in which "t.user_id" is one.
            return !statement.contains(/\b(user_)?id = (new|old)\.user_id\b/.wordBoundaryKind(.simple))
                && !statement.contains(/\(user_id,[^)]*\)\s*values \((new|old)\.user_id,/)
        }
    }
}
