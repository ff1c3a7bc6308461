import CoachCore
import CoachStore
import PostgresClient
import Testing

@Suite("Danger of earlier messages")
struct EarlierDangerTests {
    @Test("a turn begins with the danger of the newest message in its conversation that showed some, while the level is raised")
    func newest() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        var conversation: ConversationID?
        func turn(_ risk: RiskAssessment, in other: ConversationID? = nil) async throws -> EarlierDanger? {
            let request = TurnRequest(message: "Hi", conversationID: other ?? conversation)
            let context = try await turns.begin(caller, request, risk: risk).begun
            try await turns.finish(.complete(context.identity, of: caller, risk: risk))
            if other == nil { conversation = context.identity.conversationID }
            return context.earlierDanger
        }
        let abuse = RiskAssessment(tier: .crisis, categories: [.abuse], subject: .other, patterns: [])
        #expect(try await turn(.calm) == nil)
        #expect(try await turn(abuse) == nil)
        #expect(try await turn(.calm) == EarlierDanger(categories: [.abuse], subject: .other))
        #expect(try await turn(.danger(.high)) == EarlierDanger(categories: [.abuse], subject: .other))
        #expect(try await turn(.calm) == EarlierDanger(categories: [.suicide], subject: .user))
        let slight = RiskAssessment(tier: .concern, categories: [.eatingDisorder], subject: .user, patterns: [])
        _ = try await turn(slight)
        #expect(try await turn(.calm) == EarlierDanger(categories: [.suicide], subject: .user), "not the slight one since")
        let elsewhere = try await store.conversations.create(caller, title: "Other", domain: nil, personaID: nil)
        #expect(try await turn(.calm, in: elsewhere.id) == nil, "another conversation")
        try await store.admin.execute(
            "update public.safety_states set raised_at = now() - interval '49 hours' where user_id = \(caller.userID.uuid)")
        #expect(try await turn(.calm) == nil, "the level has decayed")
    }
}
