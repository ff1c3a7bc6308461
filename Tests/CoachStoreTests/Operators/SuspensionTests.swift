import CoachCore
import PostgresClient
import Testing

@Suite("Suspended users through PostgREST")
struct SuspensionTests {
    @Test("cannot write, and cannot read the reason")
    func suspended() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone(role: .creator)
        let id = caller.userID.uuid
        _ = try await store.requests().take(caller)
        let persona = try await store.persona()
        let inserts: [Query] = [
            "insert into public.context_profiles (user_id) values (\(id))", "insert into public.conversations (user_id) values (\(id))",
            "insert into public.push_tokens (user_id, token) values (\(id), 'a')",
            "insert into public.coaching_personas (user_id, name) values (\(id), 'x')",
            "insert into public.reports (user_id, persona_id, reason) values (\(id), \(persona.uuid), 'other')",
        ]
        for insert in inserts { #expect(try await store.postgrest(caller, insert) == 1) }
        let changes: [Query] = [
            "update public.users set display_name = 'x' where id = \(id)",
            "update public.context_profiles set goals = '[\"x\"]' where user_id = \(id)",
            "update public.conversations set title = 'x' where user_id = \(id)",
            "update public.push_tokens set platform = 'web' where user_id = \(id)", "delete from public.push_tokens where user_id = \(id)",
            "update public.coaching_personas set name = 'y' where user_id = \(id)",
        ]
        try await store.admin.execute("update public.users set suspended_at = now(), suspended_reason = 'secret' where id = \(id)")
        for insert in inserts { await #expect(throws: PostgresError.self) { try await store.postgrest(caller, insert) } }
        for change in changes { #expect(try await store.postgrest(caller, change) == 0) }
        #expect(try await store.postgrest(caller, "select id, suspended_at from public.users") == 1)
        for column in ["suspended_reason", "*"] {
            let read = Query(unsafeSQL: "select \(column) from public.users")
            await #expect(throws: PostgresError.self) { try await store.postgrest(caller, read) }
        }
        try await store.admin.execute("update public.users set suspended_at = null where id = \(id)")
        for change in changes { #expect(try await store.postgrest(caller, change) == 1) }
    }
    @Test("every table that users write has a restrictive policy against them, for each command")
    func policies() async throws {
        let store = try await StoreFixture.shared()
        let query: Query = """
            select format('%s %s', c.oid::regclass, w.command), exists (
                select from pg_policy p
                where p.polrelid = c.oid and not p.polpermissive and p.polcmd::text in (w.code, '*')
                    and p.polroles && array[0, 'authenticated'::regrole]::oid[]
                    and concat(pg_get_expr(p.polqual, c.oid), pg_get_expr(p.polwithcheck, c.oid)) ~ 'suspended_at IS NULL')
            from pg_class c
            join pg_namespace n on n.oid = c.relnamespace and n.nspname in ('public', 'gateway', 'operator')
            cross join (values ('INSERT', 'a'), ('UPDATE', 'w'), ('DELETE', 'd')) w (command, code)
            where c.relkind in ('r', 'p', 'v') and (has_table_privilege('authenticated', c.oid, w.command)
                or (w.command <> 'DELETE' and has_any_column_privilege('authenticated', c.oid, w.command)))
            """
        let found = try await store.admin.query(query) { rows in
            try rows.map { row in (written: try row.value(0, as: String.self), isCovered: try row.value(1, as: Bool.self)) }
        }
        #expect(found.count > 8 && found.contains { $0.written == "reports INSERT" })
        #expect(found.filter { !$0.isCovered }.map(\.written) == [])
    }
}
