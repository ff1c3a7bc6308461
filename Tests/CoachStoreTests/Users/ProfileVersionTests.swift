import CoachCore
import Foundation
import PostgresClient
import Testing

@Suite("Versions of a context profile")
struct ProfileVersionTests {
    @Test("are numbered by the database, and replaced versions are kept")
    func history() async throws {
        let store = try await StoreFixture.shared()
        let (caller, id) = try await newcomer(store)
        let version: Query = "select version::text from public.context_profiles where user_id = \(id)"
        try await store.postgrest(caller, "insert into public.context_profiles (user_id, goals) values (\(id), '[\"a\"]')")
        #expect(try await store.value(version) == "1")
        try await store.postgrest(caller, "update public.context_profiles set goals = '[\"b\"]' where user_id = \(id)")
        try await store.postgrest(caller, "update public.context_profiles set goals = '[\"b\"]' where user_id = \(id)")
        #expect(try await store.value(version) == "2", "an update that changes nothing is no version")
        await #expect(throws: PostgresError.self) {
            try await store.postgrest(caller, "update public.context_profiles set version = 7 where user_id = \(id)")
        }
        await #expect(throws: PostgresError.self) { try await store.postgrest(caller, "delete from public.context_profile_history") }
        let kept = try await store.value(
            "select string_agg(version || goals::text, ',' order by version) from public.context_profile_history where user_id = \(id)")
        #expect(kept == #"1["a"]"#)
        #expect(try await store.postgrest(caller, "select 1 from public.context_profile_history") == 1)
    }

    @Test("an upsert of PostgREST, which sets the key, too, makes the profile and then a version of it; of another user it is refused")
    func upsert() async throws {
        let store = try await StoreFixture.shared()
        let (caller, id) = try await newcomer(store)
        let (_, other) = try await newcomer(store)
        func upsert(_ user: UUID, _ goals: String) -> Query {
            """
            insert into public.context_profiles (user_id, goals) values (\(user), \(goals)::jsonb)
            on conflict (user_id) do update set user_id = excluded.user_id, goals = excluded.goals returning *
            """
        }
        for (goals, version) in [("[1]", "1"), ("[2]", "2"), ("[2]", "2")] {
            try await store.postgrest(caller, upsert(id, goals))
            #expect(try await store.value("select version::text from public.context_profiles where user_id = \(id)") == version)
        }
        await #expect(throws: PostgresError.self) { try await store.postgrest(caller, upsert(other, "[3]")) }
        await #expect(throws: PostgresError.self) {
            try await store.postgrest(caller, "update public.context_profiles set user_id = \(other) where user_id = \(id)")
        }
        #expect(try await store.count("select count(*) from public.context_profiles where user_id = \(other)") == 0)
    }

    @Test("concurrent edits each create a version, and all are kept")
    func concurrent() async throws {
        let store = try await StoreFixture.shared()
        let (caller, id) = try await newcomer(store)
        try await store.postgrest(caller, "insert into public.context_profiles (user_id) values (\(id))")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...110 {
                group.addTask {
                    try await store.admin.execute(
                        "update public.context_profiles set goals = to_jsonb(array[\(number)::integer]) where user_id = \(id)")
                }
            }
            try await group.waitForAll()
        }
        #expect(try await store.value("select version::text from public.context_profiles where user_id = \(id)") == "111")
        let kept: Query = """
            select min(version) || '-' || max(version) || ' ' || count(*) from public.context_profile_history where user_id = \(id)
            """
        #expect(try await store.value(kept) == "1-110 110")
    }

    @Test("are at most 20,000: the next edit is refused, and what is there stays")
    func quota() async throws {
        let store = try await StoreFixture.shared()
        let (caller, id) = try await newcomer(store)
        try await store.admin.execute(
            """
            insert into public.context_profile_history (user_id, version, "values", goals, situation, written_at)
            values (\(id), 19998, '[]', '[]', '[]', now())
            """)
        let profiles = ContextProfileRepository.postgres(client: store.gateway)
        func edit(_ goal: String) -> ContextProfileEdit { ContextProfileEdit(fields: [.goals: [.string(goal)]], expectedVersions: nil) }
        #expect(try await profiles.edit(caller, edit("a")).version == 19_999)
        #expect(try await profiles.edit(caller, edit("b")).version == 20_000)
        await #expect(throws: Rejection(reason: .tooManyItems)) { try await profiles.edit(caller, edit("c")) }
        #expect(try await profiles.edit(caller, edit("b")).version == 20_000, "nothing changes")
        #expect(try await profiles.get(caller).fields[.goals] == ["b"])
        #expect(try await profiles.history(caller, nil, 9).map(\.version) == [20_000, 19_999, 19_998])
    }

    private func newcomer(_ store: StoreFixture) async throws -> (Caller, UUID) {
        let caller = Caller.someone()
        _ = try await store.requests().take(caller)
        return (caller, caller.userID.uuid)
    }
}
