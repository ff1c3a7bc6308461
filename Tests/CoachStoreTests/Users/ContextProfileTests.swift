import CoachCore
import CoachStore
import Foundation
import JSON
import PostgresClient
import Testing

@Suite("Context profiles")
struct ContextProfileTests {
    private func newcomer() async throws -> (StoreFixture, Caller, ContextProfileRepository) {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        _ = try await store.requests().take(caller)
        return (store, caller, .postgres(client: store.gateway))
    }

    @Test("begin as version 0, are edited by field, and keep replaced versions")
    func life() async throws {
        let (_, caller, profiles) = try await newcomer()
        #expect(
            try await profiles.get(caller)
                == ContextProfileVersion(version: 0, fields: [.values: [], .goals: [], .situation: []], writtenAt: nil))
        await #expect(throws: StaleVersion()) { try await profiles.edit(caller, .init(fields: [.goals: ["x"]], expectedVersions: [1])) }
        let first = try await profiles.edit(
            caller, .init(fields: [.goals: ["run"], .values: [["text": "truth", "weight": 2]]], expectedVersions: [0]))
        #expect(first.version == 1 && first.fields == [.goals: ["run"], .values: [["text": "truth", "weight": 2]], .situation: []])
        let second = try await profiles.edit(caller, .init(fields: [.goals: ["run", "rest"]], expectedVersions: [1]))
        #expect(second.version == 2 && second.fields[.values] == first.fields[.values])
        let same = try await profiles.edit(caller, .init(fields: [.goals: ["run", "rest"]], expectedVersions: nil))
        #expect(same == second)
        #expect(try await profiles.get(caller).fields == second.fields)
        #expect(try await profiles.history(caller, nil, 10).map(\.version) == [2, 1])
        #expect(try await profiles.history(caller, 2, 10).map(\.fields) == [first.fields])
        for stale in [[0], [1], [], [9]] as [[Int64]] {
            await #expect(throws: StaleVersion()) { try await profiles.edit(caller, .init(fields: [:], expectedVersions: stale)) }
        }
        await #expect(throws: ProfileTooLong(.goals)) {
            let long = JSONValue.string(String(repeating: "x", count: 16_000))
            _ = try await profiles.edit(caller, .init(fields: [.goals: [long]], expectedVersions: [2]))
        }
    }

    @Test("as deep as in a request, and with a number beyond a double, one is read, by turns, too; a deeper one is not written")
    func deepest() async throws {
        let (store, caller, profiles) = try await newcomer()
        func writing(_ goals: String) -> Query {
            """
            insert into public.context_profiles (user_id, goals) values (\(caller.userID.uuid), \(goals)::jsonb)
            on conflict (user_id) do update set goals = excluded.goals
            """
        }
        func nested(_ count: Int) -> String { String(repeating: "[", count: count) + "1" + String(repeating: "]", count: count) }
        // A request has at most 120, of which its object is one.
        for goals in [nested(119), "[1e400]"] {
            #expect(try await store.postgrest(caller, writing(goals)) == 1)
            #expect(try await profiles.get(caller).fields[.goals]?.count == 1)
            try await store.turns().talk(caller, "Hello")
        }
        let deeper = writing(nested(121))
        await #expect(throws: PostgresError.self) { try await store.postgrest(caller, deeper) }
    }

    @Test("of concurrent edits of the same version, also of version 0, one succeeds, and no edit is lost")
    func concurrent() async throws {
        let (_, caller, profiles) = try await newcomer()
        for expected in [0, 1] as [Int64] {
            let successes = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<6 {
                    group.addTask {
                        let edit = ContextProfileEdit(fields: [.goals: [.string("\(expected) \(number)")]], expectedVersions: [expected])
                        return (try? await profiles.edit(caller, edit)) != nil
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(successes == 1)
        }
        #expect(try await profiles.history(caller, nil, 10).map(\.version) == [2, 1])
    }

    @Test("edits without an expected version all succeed")
    func anyVersion() async throws {
        let (_, caller, profiles) = try await newcomer()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<6 {
                group.addTask {
                    _ = try await profiles.edit(caller, .init(fields: [.goals: [.integer(Int64(number))]], expectedVersions: nil))
                }
            }
            try await group.waitForAll()
        }
        #expect(try await profiles.get(caller).version == 6)
    }
}
