import CoachCore
import Foundation
import PostgresClient
import Testing

@Suite("Push tokens")
struct PushTokenTests {
    @Test("belong to the user who registered them last, and other users' rows are not changed")
    func oneOwner() async throws {
        let store = try await StoreFixture.shared()
        let (first, second) = (try await newcomer(store), try await newcomer(store))
        let device = UUID().uuidString
        try await register(device, of: first, store)
        let before = try await row(of: first, store)
        try await register(device, of: second, store)
        #expect(try await owned(by: first, store) == [])
        #expect(try await owned(by: second, store) == [device])
        #expect(try await row(of: first, store) == before)

        // The device is registered by another user again, as apps do it: by an upsert that returns the row.
        try await register(device, of: first, store)
        #expect(try await owned(by: first, store) == [device])
        #expect(try await owned(by: second, store) == [])
        try await store.postgrest(second, "delete from public.push_tokens where token = \(device)")
        #expect(try await owned(by: first, store) == [device])
        try await store.postgrest(first, "delete from public.push_tokens where token = \(device)")
        #expect(try await owned(by: first, store) == [])
    }

    @Test("of two users who register a device concurrently one gets it")
    func race() async throws {
        let store = try await StoreFixture.shared()
        let (first, second) = (try await newcomer(store), try await newcomer(store))
        for _ in 0..<10 {
            let device = UUID().uuidString
            async let one: Void = register(device, of: first, store)
            async let two: Void = register(device, of: second, store)
            _ = try await (one, two)
            let owners = try await [first, second].asyncCount { try await owned(by: $0, store).contains(device) }
            #expect(owners == 1)
        }
    }

    @Test("are at most 20 for each user; the newest are kept")
    func quota() async throws {
        let store = try await StoreFixture.shared()
        let caller = try await newcomer(store)
        let devices = (0..<25).map { "\(UUID().uuidString)-\($0)" }
        for device in devices { try await register(device, of: caller, store) }
        #expect(try await Set(owned(by: caller, store)) == Set(devices.suffix(20)))
        #expect(try await store.count("select count(*) from public.push_tokens where user_id = \(caller.userID.uuid)") == 20)
    }

    @Test("are neither given to another user nor exchanged for another token")
    func key() async throws {
        let store = try await StoreFixture.shared()
        let (caller, other) = (try await newcomer(store), try await newcomer(store))
        let device = UUID().uuidString
        try await register(device, of: caller, store)
        try await register(device, of: caller, store)
        let refused: [Query] = [
            "update public.push_tokens set user_id = \(other.userID.uuid) where token = \(device)",
            "update public.push_tokens set token = 'another' where token = \(device)",
        ]
        for statement in refused {
            await #expect(throws: PostgresError.self) { try await store.postgrest(caller, statement) }
        }
        await #expect(throws: PostgresError.self) { try await register(device, of: caller, as: other.userID, store) }
        #expect(try await owned(by: caller, store) == [device])
        #expect(try await owned(by: other, store) == [])
    }

    private func newcomer(_ store: StoreFixture) async throws -> Caller {
        let caller = Caller.someone()
        _ = try await store.requests().take(caller)
        return caller
    }

    /// With the statement that PostgREST makes of an upsert: it sets all columns, those of the key, too.
    private func register(_ device: String, of caller: Caller, as user: UserID? = nil, _ store: StoreFixture) async throws {
        try await store.postgrest(
            caller,
            """
            insert into public.push_tokens (user_id, token, platform) values (\((user ?? caller.userID).uuid), \(device), 'ios')
            on conflict (user_id, token) do update
            set user_id = excluded.user_id, token = excluded.token, platform = excluded.platform returning *
            """)
    }

    /// The registered tokens that no other user has claimed since.
    private func owned(by caller: Caller, _ store: StoreFixture) async throws -> [String] {
        let query: Query = """
            select p.token from public.push_tokens p
            join gateway.push_token_owners o on o.token_hash = sha256(convert_to(p.token, 'UTF8')) and o.user_id = p.user_id
            where p.user_id = \(caller.userID.uuid)
            """
        return try await store.admin.query(query) { rows in try rows.map { row in try row.value(0) } }
    }

    /// The row version (`xmin`) of the user's row, which changes when it is written.
    private func row(of caller: Caller, _ store: StoreFixture) async throws -> String? {
        try await store.value(
            "select string_agg(xmin::text || ctid::text, ',') from public.push_tokens where user_id = \(caller.userID.uuid)")
    }
}

extension Array {
    fileprivate func asyncCount(where holds: (Element) async throws -> Bool) async rethrows -> Int {
        var count = 0
        for element in self where try await holds(element) { count += 1 }
        return count
    }
}
