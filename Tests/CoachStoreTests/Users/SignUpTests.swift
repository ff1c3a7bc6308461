import CoachCore
import Foundation
import PostgresClient
import TestSupport
import Testing

@Suite("Users of Supabase")
struct SignUpTests {
    private func migration(_ name: String) throws -> String {
        try String(contentsOf: Project.migrations.appendingPathComponent(name), encoding: .utf8)
    }

    @Test("may write behind PostgREST before their first request to the gateway, also those who signed up before the migrations")
    func signUp() async throws {
        let (earlier, caller) = (Caller.someone(), Caller.someone())
        let store = try await StoreFixture(prepare: SupabaseLike.sql + "insert into auth.users (id) values ('\(earlier.userID)');")
        try await store.admin.execute("insert into auth.users (id) values (\(caller.userID.uuid))")
        for user in [earlier, caller] {
            let id = user.userID.uuid
            #expect(try await store.postgrest(user, "insert into public.context_profiles (user_id) values (\(id))") == 1)
            #expect(try await store.postgrest(user, "insert into public.conversations (user_id) values (\(id))") == 1)
            try await store.turns().talk(user, "Hello")
        }
    }

    @Test("sign up without a row when they were removed, and when it cannot be made")
    func withoutRow() async throws {
        let store = try await StoreFixture(prepare: SupabaseLike.sql)
        let id = UserID.random().uuid
        let (signUp, row): (Query, Query) = (
            "insert into auth.users (id) values (\(id))", "select count(*) from public.users where id = \(id)"
        )
        try await store.admin.execute(signUp)
        #expect(try await store.count(row) == 1)
        try await store.admin.execute("delete from auth.users where id = \(id)")
        try await store.admin.execute(signUp)
        try await store.database.psql(try migration("00132_users_signed_up_before.sql"))
        #expect(try await store.count(row) == 0)

        try await store.admin.execute("alter table public.users rename to former_users")
        try await store.admin.execute("insert into auth.users (id) values (\(UUID()))")
        #expect(try await store.count("select count(*) from auth.users") == 2)
    }

    @Test("are left as they are by an owner of the migrations who has no rights on auth.users")
    func withoutRights() async throws {
        let store = try await StoreFixture(prepare: SupabaseLike.sql)
        let role = "owner_" + UUID().uuidString.lowercased().replacing("-", with: "")
        let output = try await store.database.psql(
            """
            begin;
            drop trigger coach_gateway_user on auth.users;
            create role \(role) nologin;
            grant usage, create on schema gateway to \(role);
            grant usage on schema auth to \(role);
            alter function gateway.add_user() owner to \(role);
            set local role \(role);
            \(try migration("00131_users_of_sign_ups.sql"))
            \(try migration("00132_users_signed_up_before.sql"))
            reset role;
            select count(*) from pg_trigger where tgname = 'coach_gateway_user';
            rollback;
            """)
        // Behind the notices of both migrations.
        #expect(output.split(separator: "\n").last == "0", "\(output)")
    }
}
