import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Idempotency keys of creations")
struct IdempotentRequestsTests {
    private static let request = IdempotentRequest(key: "k 1", route: "POST /things", body: Array("{}".utf8))
    private static let answer = CreationAnswer(status: 201, data: Array(#"{"name":"Zoë"}"#.utf8), version: 1 << 40)

    private func newcomer(_ store: StoreFixture) async throws -> (Caller, IdempotentRequests) {
        let caller = Caller.someone()
        _ = try await store.requests().take(caller)
        return (caller, .postgres(client: store.gateway))
    }

    @Test("a request is claimed once, then in progress, then completed; another request with its key is a conflict")
    func life() async throws {
        let store = try await StoreFixture.shared()
        let (caller, requests) = try await newcomer(store)
        guard case .claimed = try await requests.claim(caller, Self.request) else { throw StoreFault.unexpected("not claimed") }
        #expect(try await requests.claim(caller, Self.request) == .inProgress)
        try await requests.complete(caller, Self.request.key, Self.answer)
        #expect(try await requests.claim(caller, Self.request) == .completed(Self.answer))
        for other in [
            IdempotentRequest(key: "k 1", route: "POST /things", body: Array("{ }".utf8)),
            IdempotentRequest(key: "k 1", route: "POST /others", body: Self.request.body),
        ] {
            #expect(try await requests.claim(caller, other) == .conflict)
        }
        let (neighbour, _) = try await newcomer(store)
        guard case .claimed = try await requests.claim(neighbour, Self.request) else { throw StoreFault.unexpected("keys are personal") }
    }

    @Test("a released key can be claimed again, a completed one cannot")
    func release() async throws {
        let store = try await StoreFixture.shared()
        let (caller, requests) = try await newcomer(store)
        _ = try await requests.claim(caller, Self.request)
        try await requests.release(caller, Self.request.key, true)
        guard case .claimed = try await requests.claim(caller, Self.request) else { throw StoreFault.unexpected("not free") }
        try await requests.complete(caller, Self.request.key, Self.answer)
        try await requests.release(caller, Self.request.key, true)
        #expect(try await requests.claim(caller, Self.request) == .completed(Self.answer))
    }

    @Test("a key whose creation may have been committed is claimed again at once, with the same id, and by no other request")
    func unknown() async throws {
        let store = try await StoreFixture.shared()
        let (caller, requests) = try await newcomer(store)
        let first = try await requests.claim(caller, Self.request)
        try await requests.release(caller, Self.request.key, false)
        let other = IdempotentRequest(key: Self.request.key, route: "POST /others", body: Self.request.body)
        #expect(try await requests.claim(caller, other) == .conflict)
        #expect(try await requests.claim(caller, Self.request) == first)
        #expect(try await requests.claim(caller, Self.request) == .inProgress)
    }

    @Test("of many concurrent claims one succeeds")
    func concurrent() async throws {
        let store = try await StoreFixture.shared()
        let (caller, requests) = try await newcomer(store)
        let outcomes = try await withThrowingTaskGroup(of: IdempotencyClaim.self) { group in
            for _ in 0..<10 { group.addTask { try await requests.claim(caller, Self.request) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { if case .claimed = $0 { true } else { false } } == 1)
        #expect(outcomes.count { $0 == .inProgress } == 9)
    }

    @Test("an abandoned claim can be claimed again after a minute with the same id; an answer expires after a day")
    func expiry() async throws {
        let store = try await StoreFixture.shared()
        let (caller, requests) = try await newcomer(store)
        let first = try await requests.claim(caller, Self.request)
        try await age(caller, by: "2 minutes", store)
        #expect(try await requests.claim(caller, Self.request) == first)
        try await requests.complete(caller, Self.request.key, Self.answer)
        try await age(caller, by: "2 minutes", store)
        #expect(try await requests.claim(caller, Self.request) == .completed(Self.answer))
        try await age(caller, by: "25 hours", store)
        guard case .claimed = try await requests.claim(caller, Self.request) else { throw StoreFault.unexpected("not expired") }
        #expect(try await requests.claim(caller, Self.request) != first)

        try await age(caller, by: "25 hours", store)
        try await Housekeeping.postgres(client: store.gateway, daysKept: 1).purgeIdempotencyKeys()
        #expect(
            try await store.count("select count(*) from gateway.idempotent_requests where user_id = \(caller.userID.uuid)") == 0)
    }

    private func age(_ caller: Caller, by interval: String, _ store: StoreFixture) async throws {
        try await store.admin.execute(
            """
            update gateway.idempotent_requests set claimed_at = claimed_at - \(interval)::interval
            where user_id = \(caller.userID.uuid)
            """)
    }
}
