import CoachCore
import CoachStore
import Foundation
import Testing

@Suite("Operators' sessions")
struct OperatorSessionTests {
    private func newcomer(_ role: Role?, _ store: StoreFixture) async throws -> Caller {
        let caller = Caller.someone(role: role)
        try await store.admin.execute("insert into public.users (id) values (\(caller.userID.uuid))")
        return caller
    }

    @Test("a session is known until it is closed or ends; the database has no secret")
    func life() async throws {
        let store = try await StoreFixture.shared()
        let sessions = OperatorSessions.postgres(client: store.gateway)
        let caller = try await newcomer(.operator, store)
        let (token, other) = (SessionToken.random(for: caller.userID), SessionToken.random(for: caller.userID))
        #expect(try await sessions.expiry(token) == nil)
        try await sessions.open(caller, token)
        try await sessions.open(caller, other)
        #expect(try await sessions.expiry(token) == Date(timeIntervalSince1970: caller.expiresAt.timeIntervalSince1970.rounded(.down)))
        let stranger = try #require(SessionToken(SessionToken.random(for: caller.userID).text))
        #expect(try await sessions.expiry(stranger) == nil)
        let clear = try await store.count(
            "select count(*) from gateway.operator_sessions where secret_hash in (\(token.secret), sha256(\(token.secret)))")
        #expect(clear == 0)
        #expect(try await sessions.close(token))
        #expect(try await sessions.close(token) == false)
        #expect(try await sessions.expiry(token) == nil)
        #expect(try await sessions.expiry(other) != nil)
        try await store.admin.execute(
            "update gateway.operator_sessions set expires_at = now() - interval '1 s' where user_id = \(caller.userID.uuid)")
        #expect(try await sessions.expiry(other) == nil)
        #expect(try await sessions.close(other) == false)
        try await sessions.open(caller, token)
        #expect(try await store.count("select count(*) from gateway.operator_sessions where user_id = \(caller.userID.uuid)") == 1)
    }

    @Test("nobody but an operator opens one")
    func roles() async throws {
        let store = try await StoreFixture.shared()
        let sessions = OperatorSessions.postgres(client: store.gateway)
        for role in [nil, Role.creator] {
            let caller = try await newcomer(role, store)
            await #expect(throws: NotAllowed.self) { try await sessions.open(caller, .random(for: caller.userID)) }
        }
    }

    @Test("a token has one text, and no other text is one")
    func text() throws {
        let token = SessionToken.random(for: .random())
        #expect(token.text.count == 64 && SessionToken(token.text) == token)
        for wrong in ["", "x", String(token.text.dropLast()), token.text + "A", token.text.dropLast() + "="] {
            #expect(SessionToken(wrong) == nil)
        }
    }
}
