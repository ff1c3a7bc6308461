import CoachCore
import CoachStore
import PostgresClient
import Testing

/// The schema limits what users write, because PostgREST does not.
@Suite("Limits of users' writes")
struct UserTextLimitTests {
    @Test("a text of 5 MB is rejected in every column that a user may write")
    func sizes() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone(role: .creator)
        _ = try await store.requests().take(caller)
        let (persona, reported) = (try await store.persona(status: "draft", of: caller.userID), try await store.persona())
        try await store.postgrest(caller, "insert into public.context_profiles (user_id) values (\(caller.userID.uuid))")
        try await store.postgrest(caller, "insert into public.conversations (user_id) values (\(caller.userID.uuid))")
        try await store.postgrest(caller, "insert into public.push_tokens (user_id, token) values (\(caller.userID.uuid), 'a')")

        let (text, json) = ("repeat('x', 5000000)", "to_jsonb(array[repeat('x', 5000000)])")
        let columns = [
            "public.users": ["display_name": text, "locale": text, "country": text, "time_zone": text],
            "public.context_profiles": ["values": json, "goals": json, "situation": json],
            "public.conversations": ["title": text],
            "public.push_tokens": ["token": text, "platform": text, "environment": text],
            "public.coaching_personas": [
                "name": text, "description": text, "domain": json, "tone": json, "methodology": json, "personality": json,
                "starters": json, "languages": json, "card": json,
            ],
            "public.reports": ["comment": text],
        ]
        // What a user writes only with a new row.
        let inserts = [
            "public.push_tokens.token": "user_id, token) values ('\(caller.userID)', \(text))",
            "public.reports.comment":
                "user_id, persona_id, reason, comment) values ('\(caller.userID)', '\(reported)', 'other', \(text))",
        ]
        for (table, texts) in columns {
            let key = table == "public.users" ? "id" : "user_id"
            for (column, value) in texts {
                let statement =
                    inserts["\(table).\(column)"].map { "insert into \(table) (\($0)" }
                    ?? "update \(table) set \"\(column)\" = \(value) where \(key) = '\(caller.userID)'"
                let error = await #expect(throws: PostgresError.self, "\(table).\(column)") {
                    try await store.postgrest(caller, Query(unsafeSQL: statement))
                }
                // By a check or the type, and not for a missing privilege or another row's rule.
                #expect(["23514", "22001"].contains(error?.sqlState), "\(table).\(column)")
            }
        }
        // The list has every column of a type without a limit of its own that users may write.
        let granted = try await store.value(
            """
            select string_agg(format('%s.%s.%s', n.nspname, c.relname, a.attname), ' ' order by n.nspname, c.relname, a.attname)
            from pg_class c
            join pg_namespace n on n.oid = c.relnamespace
            join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
            join pg_type t on t.oid = a.atttypid
            where n.nspname in ('public', 'gateway', 'operator')
                and (t.typcategory in ('S', 'A', 'C') or t.typname in ('json', 'jsonb', 'bytea', 'xml'))
                and (has_column_privilege('authenticated', c.oid, a.attnum, 'INSERT')
                    or has_column_privilege('authenticated', c.oid, a.attnum, 'UPDATE'))
            """)
        let listed = columns.flatMap { table, texts in texts.keys.map { "\(table).\($0)" } }
        #expect(granted == listed.sorted().joined(separator: " "))
        #expect(try await store.count("select count(*) from public.coaching_personas where id = \(persona.uuid) and name = 'Maya'") == 1)
    }

    @Test("a creator has at most 100 personas, also with concurrent creations")
    func personas() async throws {
        let store = try await StoreFixture.shared()
        let creator = Caller.someone(role: .creator)
        _ = try await store.requests().take(creator)
        let insert: Query = """
            insert into public.coaching_personas (user_id, name) select \(creator.userID.uuid), 'x' from generate_series(1, \(20)::integer)
            """
        let made = await insertions(7) { try await store.postgrest(creator, insert) }
        #expect(made == 5)
        #expect(try await store.count("select count(*) from public.coaching_personas where user_id = \(creator.userID.uuid)") == 100)
    }

    @Test("a user has at most 1,000 empty conversations, 10,000 with deleted ones, and can still begin turns")
    func conversations() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        _ = try await store.requests().take(caller)
        let insert: Query = """
            insert into public.conversations (user_id) select \(caller.userID.uuid) from generate_series(1, \(200)::integer)
            """
        let made = await insertions(6) { try await store.postgrest(caller, insert) }
        #expect(made == 5)
        await #expect(throws: Rejection(reason: .tooManyItems)) { try await store.conversations.create(caller, ConversationDraft()) }
        try await store.postgrest(caller, "update public.conversations set deleted_at = now() where user_id = \(caller.userID.uuid)")
        _ = try await store.conversations.create(caller, ConversationDraft())
        try await store.admin.withTransaction { lease in
            try await lease.execute("set local session_replication_role = replica")
            try await lease.execute(
                """
                insert into public.conversations (user_id, deleted_at)
                select \(caller.userID.uuid), now() from generate_series(1, \(8_999)::integer)
                """)
        }
        await #expect(throws: Rejection(reason: .tooManyItems)) { try await store.conversations.create(caller, ConversationDraft()) }
        try await store.turns().talk(caller, "Hello")
    }

    @Test("a user has at most 1,000 reports")
    func reports() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        _ = try await store.requests().take(caller)
        let persona = try await store.persona()
        let insert: Query = """
            insert into public.reports (user_id, persona_id, reason)
            select \(caller.userID.uuid), \(persona.uuid), 'other' from generate_series(1, \(200)::integer)
            """
        let made = await insertions(6) { try await store.postgrest(caller, insert) }
        #expect(made == 5)
        await #expect(throws: Rejection(reason: .tooManyItems)) {
            try await ReportRepository.postgres(client: store.gateway).create(
                caller, Report(id: .random(), subject: .persona(persona), reason: .other, comment: nil))
        }
    }

    @Test("a user makes at most 1,000 decisions about consents, and can still withdraw each consent once")
    func consents() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        _ = try await store.requests().take(caller)
        try await store.admin.execute(
            """
            insert into public.consents (user_id, sequence, kind, version, granted)
            select \(caller.userID.uuid), n, 'ai_processing', '1', n % 2 = 1 from generate_series(1, 999) n
            """)
        let consents = ConsentRepository.postgres(client: store.gateway)
        try await consents.record(caller, .memory, "1", true)
        await #expect(throws: Rejection(reason: .tooManyItems)) { try await consents.record(caller, .disclaimer, "1", true) }
        try await consents.record(caller, .disclaimer, "1", false)
        try await consents.record(caller, .aiProcessing, "1", false)
        try await consents.record(caller, .memory, "2", false)
        await #expect(throws: Rejection(reason: .tooManyItems)) { try await consents.record(caller, .memory, "3", false) }
        await #expect(throws: Rejection(reason: .tooManyItems)) { try await consents.record(caller, .memory, "3", true) }
        try await consents.record(caller, .memory, "2", false)
        #expect(try await store.count("select count(*) from public.consents where user_id = \(caller.userID.uuid)") == 1_003)
        #expect(
            try await store.value("select consents ->> 'memory' from public.users where id = \(caller.userID.uuid)") == "false")
    }

    @Test("a persona has at most 1,000 versions; the newest is published again")
    func versions() async throws {
        let store = try await StoreFixture.shared()
        let creator = Caller.someone(role: .creator)
        _ = try await store.requests().take(creator)
        let persona = try await store.persona(of: creator.userID)
        try await store.admin.execute(
            """
            insert into public.persona_versions (persona_id, version, name, tone)
            select persona_id, n, name, tone from public.persona_versions, generate_series(2, 999) n where persona_id = \(persona.uuid)
            """)
        let personas = store.personas()
        #expect(try await personas.publish(creator, persona, .listed))
        #expect(try await personas.publish(creator, persona, .listed))
        _ = try await personas.put(creator, persona, try .named("Other"), nil)
        await #expect(throws: Rejection(reason: .tooManyItems)) { try await personas.publish(creator, persona, .listed) }
        #expect(try await personas.get(creator, persona).publishedVersion == 1_000)
    }

    @Test("a persona has at most 1,000 share links, those that were revoked included")
    func links() async throws {
        let store = try await StoreFixture.shared()
        let creator = Caller.someone(role: .creator)
        let persona = try await store.persona(of: creator.userID)
        let sharing = PersonaSharing.postgres(client: store.gateway)
        let first = try await sharing.create(creator, persona, .random(), ShareLinkDraft())
        try await store.admin.execute(
            """
            insert into public.share_links (persona_id, user_id, token, revoked_at)
            select persona_id, user_id, token || n, now() from public.share_links, generate_series(1, 998) n where id = \(first.id.uuid)
            """)
        let last = try await sharing.create(creator, persona, .random(), ShareLinkDraft())
        await #expect(throws: Rejection(reason: .tooManyItems)) {
            try await sharing.create(creator, persona, .random(), ShareLinkDraft())
        }
        #expect(try await sharing.create(creator, persona, last.id, ShareLinkDraft()).token == last.token)
    }

    @Test("at the limit, a repeated creation still answers with what it created")
    func repeatedCreation() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone(role: .creator)
        _ = try await store.requests().take(caller)
        let (personas, draft) = (store.personas(), ConversationDraft(title: "Mine"))
        let persona = try await personas.create(caller, .random(), try .named("Maya"))
        _ = try await store.conversations.create(caller, draft)
        try await store.postgrest(
            caller, "insert into public.coaching_personas (user_id, name) select \(caller.userID.uuid), 'x' from generate_series(1, 99)")
        try await store.postgrest(
            caller, "insert into public.conversations (user_id) select \(caller.userID.uuid) from generate_series(1, 999)")

        #expect(try await personas.create(caller, persona.id, try .named("Maya")).id == persona.id)
        #expect(try await store.conversations.create(caller, draft).id == draft.id)
        await #expect(throws: Rejection(reason: .tooManyItems)) { try await personas.create(caller, .random(), try .named("Maya")) }
    }

    /// How many of the concurrent insertions succeeded.
    private func insertions(_ count: Int, _ insert: @escaping @Sendable () async throws -> Int) async -> Int {
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<count { group.addTask { (try? await insert()) != nil } }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
    }
}
