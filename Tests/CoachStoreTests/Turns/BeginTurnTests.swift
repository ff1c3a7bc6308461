import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Beginning a turn")
struct BeginTurnTests {
    @Test("the first turn of a new user creates the user's row, a conversation and the message")
    func firstTurn() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let opening = try await store.turns().begin(caller, TurnRequest(message: "I want\n  a new job"), risk: .calm)
        let context = try opening.begun

        #expect(context.identity.attempt == 1)
        #expect(context.history.isEmpty && context.profile == nil && context.persona == nil && context.summary == nil)
        #expect(context.safetyLevel == .calm && context.conversationDomain == nil)
        #expect(opening.rate.limit == 600 && opening.rate.remaining == 599)
        let secondsLeft = opening.rate.resetAt - Int(Date().timeIntervalSince1970)
        #expect((0...61).contains(secondsLeft))
        #expect(
            try await store.value("select content from public.messages where id = \(context.identity.userMessageID.uuid)")
                == "I want\n  a new job")
        #expect(
            try await store.value("select title from public.conversations where id = \(context.identity.conversationID.uuid)")
                == "I want a new job")
    }

    @Test("the title is made of the beginning of the first message, unless the user has given one")
    func titles() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        func title(_ id: ConversationID) async throws -> String? {
            try await store.value("select title from public.conversations where id = \(id.uuid)")
        }
        let long = try await store.turns().talk(caller, " \n" + String(repeating: "grün ", count: 30)).conversationID
        #expect(try await title(long) == String(repeating: "grün ", count: 11) + "grün")
        for (given, expected) in [(nil, "Hello there"), ("My own", "My own")] as [(String?, String)] {
            let made = try await store.conversations.create(caller, title: given, domain: nil, personaID: nil)
            for message in ["Hello  there", "Another one"] {
                _ = try await store.turns().talk(caller, message, in: made.id)
                #expect(try await title(made.id) == expected)
            }
        }
    }

    @Test("a title that the user has removed stays removed after later messages")
    func removedTitle() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        for removed in [nil, ""] as [String?] {
            let first = try await store.turns().talk(caller, "Hello there", answer: "Hi")
            _ = try await store.conversations.patch(caller, first.conversationID, .init(title: .some(removed)))
            _ = try await store.turns().talk(caller, "Another one", in: first.conversationID)
            #expect(try await store.conversations.get(caller, first.conversationID).title == removed)
        }
    }

    @Test("a turn returns profile, history, conversation domain, country and locale")
    func context() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let first = try await store.turns().talk(caller, "First", answer: "One")
        try await store.admin.execute(
            """
            insert into public.context_profiles (user_id, values, goals, situation)
            values (\(caller.userID.uuid), '["honesty", {"text": "family", "source": "user"}, {"note": 1}]', '[]', '["two children"]')
            """)
        try await store.admin.execute("update public.users set country = 'DE', locale = 'de-DE' where id = \(caller.userID.uuid)")
        try await store.admin.execute("update public.conversations set summary = 'So far.' where id = \(first.conversationID.uuid)")

        let request = TurnRequest(message: "Second", conversationID: first.conversationID)
        let context = try await store.turns().begin(caller, request, risk: .calm).begun
        #expect(context.profile == ContextProfile(values: ["honesty", "family"], goals: [], situation: ["two children"]))
        #expect(
            context.history == [HistoryMessage(role: .user, content: "First"), HistoryMessage(role: .assistant, content: "One")])
        #expect(context.conversationDomain == .mindset)
        #expect(context.summary == "So far.")
        #expect(context.region == Region(country: "DE", locale: "de-DE"))
    }

    @Test(
        "without memory consent, refused or required and not given, a turn has no profile and no summary, and needs none",
        arguments: [(refused: true, required: false), (refused: false, required: true), (refused: true, required: true)])
    func memoryConsent(refused: Bool, required: Bool) async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let conversation = try await store.turns().talk(caller, "First").conversationID
        for number in 0..<3 { try await store.turns().talk(caller, "\(number)", in: conversation) }
        try await store.admin.execute(
            "insert into public.context_profiles (user_id, goals) values (\(caller.userID.uuid), '[\"a new job\"]')")
        try await store.admin.execute("update public.conversations set summary = 'So far.' where id = \(conversation.uuid)")
        /// Of a tier that shows two earlier messages to the model.
        func context(_ consents: RequiredConsents) async throws -> TurnContext {
            let repository = TurnRepository.postgres(
                client: store.gateway, owner: { TurnOwner(instance: UUID(), epoch: 1) },
                tiers: { TierBook([Tier("free", history: Tier.History(tokens: 1_000, messages: 2))]) }, consents: consents)
            let assessment = MessageAssessment(
                risk: .calm, domains: DomainScores(values: Domain.allCases.map { _ in 0 }, none: 1, wordCount: 1))
            let request = TurnRequest(message: "And now?", conversationID: conversation)
            let context = try await repository.begin(caller, request, assessment).begun
            try await store.turns().finish(.complete(context.identity, of: caller))
            return context
        }
        let remembered = try await context(RequiredConsents())
        #expect(remembered.profile?.goals == ["a new job"] && remembered.summary == "So far." && remembered.needsSummary)

        if refused {
            try await store.admin.execute("update public.users set consents = '{\"memory\": false}' where id = \(caller.userID.uuid)")
        }
        let forgotten = try await context(required ? RequiredConsents([.memory]) : RequiredConsents())
        #expect(forgotten.profile == nil && forgotten.summary == nil && !forgotten.needsSummary)
        // The conversation itself is not an earlier one.
        #expect(forgotten.history.count == 2)

        try await store.admin.execute("update public.users set consents = '{\"memory\": true}' where id = \(caller.userID.uuid)")
        #expect(try await context(RequiredConsents([.memory])).profile?.goals == ["a new job"])
    }

    @Test("history has the newest messages within the token budget, oldest first, without failed or superseded ones")
    func historyBudget() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let turns = store.turns()
        let first = try await turns.talk(caller, "m1", answer: "a1")
        let conversation = first.conversationID
        try await turns.talk(caller, "m2", in: conversation, answer: "a2", status: .interrupted)
        try await turns.talk(caller, "lost", in: conversation, status: .failed)
        let superseded = try await turns.talk(caller, "m3", in: conversation, answer: "old")
        try await store.admin.execute(
            "update public.messages set status = 'superseded' where id = \(superseded.messageID.uuid)")
        try await turns.talk(caller, "m4", in: conversation, answer: "a4", status: .stopped)

        func history(tokens: Int, messages: Int = 100) async throws -> [String] {
            let tiers = TierBook([Tier("free", history: Tier.History(tokens: tokens, messages: messages))])
            let request = TurnRequest(message: "next", conversationID: conversation)
            let context = try await store.turns(tiers).begin(caller, request, risk: .calm).begun
            try await turns.finish(.failed(context.identity, of: caller))
            return context.history.map(\.content)
        }
        #expect(try await history(tokens: 1_000) == ["m1", "a1", "m2", "a2", "m3", "m4", "a4"])
        // Each counts 1 for its text, whatever the provider has counted, and 4 for its role.
        #expect(try await history(tokens: 9) == ["a4"])
        #expect(try await history(tokens: 10) == ["m4", "a4"])
        #expect(try await history(tokens: 4) == [])
        #expect(try await history(tokens: 1_000, messages: 3) == ["m3", "m4", "a4"])
    }

    @Test("another user's, a deleted and an unknown conversation are rejected alike, and nothing is written")
    func notFound() async throws {
        let store = try await StoreFixture.shared()
        let (owner, stranger) = (Caller.someone(), Caller.someone())
        let turns = store.turns()
        let theirs = try await turns.talk(owner, "Mine").conversationID
        let deleted = try await turns.talk(stranger, "Away").conversationID
        #expect(try await store.conversations.delete(stranger, deleted, nil) == nil)

        let before = try await store.count("select count(*) from public.messages where user_id = \(stranger.userID.uuid)")
        var rejections: [Rejection] = []
        for id in [theirs, deleted, ConversationID.random()] {
            rejections.append(try await turns.begin(stranger, TurnRequest(message: "Hello", conversationID: id), risk: .calm).rejection)
        }
        #expect(rejections.allSatisfy { $0 == Rejection(reason: .notFound, tier: "free") })
        #expect(try await store.count("select count(*) from public.messages where user_id = \(stranger.userID.uuid)") == before)
        #expect(try await store.count("select count(*) from public.turns where user_id = \(stranger.userID.uuid)") == 1)
    }

    @Test("a conversation has one running turn, also for a message at risk")
    func oneRunningTurn() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let running = try await store.turns().begin(caller, TurnRequest(message: "One"), risk: .calm).begun.identity
        let second = TurnRequest(message: "Two", conversationID: running.conversationID)
        let rejection = try await store.turns().begin(caller, second, risk: .calm).rejection
        #expect(rejection.reason == .turnInProgress && rejection.retryAfter == 1)
        #expect(try await store.turns().begin(caller, second, risk: .danger(.high)).rejection.reason == .turnInProgress)
        try await store.turns().finish(.complete(running, of: caller))
        _ = try await store.turns().begin(caller, second, risk: .calm).begun
    }

    @Test("a turn whose owner crashed blocks the next turn until it is finalized, so that its text is kept")
    func crashedOwner() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let turns = store.turns()
        let request = TurnRequest(message: "One", idempotencyKey: "k")
        let first = try await turns.begin(caller, request, risk: .calm).begun.identity
        #expect(try await turns.begin(caller, request, risk: .calm).known.status == .running)
        let other = TurnRequest(message: "Two", conversationID: first.conversationID)
        #expect(try await turns.begin(caller, other, risk: .calm).rejection.reason == .turnInProgress)

        var estimate = TurnReceipt.failed(first, of: caller)
        estimate.finalizedBy = .recovery
        try await turns.finish(estimate)
        let again = try await turns.begin(caller, request, risk: .calm).begun.identity
        #expect(again.turnID == first.turnID && again.attempt == 2)
        try await turns.finish(estimate)
        #expect(try await turns.load(first.turnID, for: caller)?.status == .running)
        try await turns.finish(.complete(again, of: caller))
        #expect(try await turns.begin(caller, other, risk: .calm).begun.identity.turnID != first.turnID)
    }

    @Test("a suspended user is rejected, also with a message at risk; the rejection has the safety level")
    func suspended() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        try await store.turns().talk(caller, "Hello")
        try await store.admin.execute("update public.users set suspended_at = now() where id = \(caller.userID.uuid)")
        try await store.admin.execute(
            "insert into public.safety_states (user_id, level, raised_at) values (\(caller.userID.uuid), 2, now())")
        let rejection = try await store.turns().begin(caller, TurnRequest(message: "Help"), risk: .danger(.high)).rejection
        #expect(rejection == Rejection(reason: .suspended, tier: "free", safetyLevel: .crisis))
    }

    @Test("a function of the gateway does nothing without a caller")
    func noClaims() async throws {
        let store = try await StoreFixture.shared()
        await #expect(throws: PostgresError.self) {
            try await store.gateway.execute(
                "select gateway.begin_turn(gen_random_uuid(), '{\"message\": \"x\"}')")
        }
    }

    @Test("text in many scripts is stored and returned unchanged")
    func scripts() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let text = "¿Qué? 日本語 \u{2028} \\ \" ' 👩‍👩‍👧 $1 {} \u{1}"
        let first = try await store.turns().talk(caller, text, answer: text)
        let request = TurnRequest(message: "x", conversationID: first.conversationID)
        #expect(try await store.turns().begin(caller, request, risk: .calm).begun.history.map(\.content) == [text, text])
    }
}
