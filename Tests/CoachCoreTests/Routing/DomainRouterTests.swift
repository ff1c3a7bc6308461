import Testing

@testable import CoachCore

@Suite("Domain routing")
struct DomainRouterTests {
    private func decide(
        _ message: String, pinned: Domain? = nil, persona: Domain? = nil, conversation: Domain? = nil
    ) -> DomainDecision {
        DomainRouter.decide(
            Shipped.assessor.assess(message).domains, pinned: pinned, persona: persona, conversationDomain: conversation)
    }

    @Test(
        "clear messages are routed, in English and Spanish",
        arguments: [
            ("I want a morning routine and less screen time", Domain.lifeCoaching), ("quiero ordenar mi vida y mi rutina", .lifeCoaching),
            ("how do I answer the salary question in a job interview", .careerCoaching),
            ("me despidieron, ayúdame con el currículum", .careerCoaching),
            ("my girlfriend and I keep fighting about her parents", .relationships), ("discutí con mi novia", .relationships),
            ("imposter syndrome before every talk, I doubt myself", .mindset), ("procrastino todo, me falta disciplina", .mindset),
            ("stuck in chapter three of my novel", .creativity), ("quiero escribir un libro de poesía", .creativity),
            ("build me a workout for two days a week", .fitness), ("rutina de gimnasio para ganar músculo", .fitness),
            ("how do I give feedback to a direct report", .leadership), ("cómo delegar en mi equipo", .leadership),
        ])
    func clear(_ message: String, _ domain: Domain) {
        let decision = decide(message)
        #expect(decision.domain == domain, "\(message)")
        #expect(decision.source == .message)
        #expect((0...1).contains(decision.confidence))
    }

    @Test("messages without a domain are not routed", arguments: ["hello", "what time is it in Lima", "thanks!", "", "ok", "¿quién eres?"])
    func abstains(_ message: String) {
        #expect(decide(message) == DomainDecision(domain: nil, confidence: decide(message).confidence, source: .abstained))
    }

    @Test(
        "a routing term inside an everyday phrase does not count",
        arguments: [
            "I have a couple of questions", "What are my next steps?", "That sounds perfect, thank you", "I'm running late today",
            "I want to get back on track",
        ])
    func everydayPhrases(_ message: String) {
        #expect(decide(message).domain == nil)
        #expect(decide(message, conversation: .leadership).domain == .leadership)
    }

    @Test("the pinned domain has precedence over the persona's, and the persona's over the message's")
    func precedence() {
        let message = "build me a workout"
        #expect(decide(message, pinned: .mindset, persona: .creativity).domain == .mindset)
        #expect(decide(message, pinned: .mindset).confidence == 1)
        #expect(decide(message, persona: .creativity) == DomainDecision(domain: .creativity, confidence: 1, source: .persona))
        #expect(decide(message, conversation: .mindset).domain == .fitness)
    }

    @Test("short and undecided messages keep the conversation's domain")
    func sticky() {
        for message in ["yes please", "my boss", "tell me more about that", "and then what?"] {
            #expect(decide(message, conversation: .relationships).domain == .relationships, "\(message)")
        }
        #expect(decide("tell me more about that", conversation: .relationships).source == .conversation)
    }

    @Test("a clear change of topic changes the domain, weak evidence does not")
    func change() {
        #expect(decide("now help me with my resume and a job interview", conversation: .fitness).domain == .careerCoaching)
        #expect(decide("I was thinking about my energy and my team", conversation: .fitness).domain == .fitness)
    }

    @Test("a repeated term counts at most twice")
    func repetition() {
        let assessor = MessageAssessor(grammar: Shipped.grammar, domains: Shipped.domains, classifier: nil, domainClassifier: nil)
        let scores = assessor.assess(String(repeating: "gym ", count: 50)).domains
        #expect((scores.values.max() ?? 0) <= 6)
        #expect(scores.wordCount == 50)
    }

    @Test("a domain below the threshold of the scores' source does not decide")
    func threshold() {
        var scores = DomainScores(values: Domain.allCases.map { $0 == .fitness ? 4 : 0 }, none: 0, wordCount: 9)
        #expect(DomainRouter.decide(scores).domain == .fitness)
        #expect(DomainRouter.decide(scores, conversationDomain: .mindset).domain == .fitness)
        scores.minimumProbability = 0.95
        #expect(DomainRouter.decide(scores).domain == nil)
        #expect(DomainRouter.decide(scores, conversationDomain: .mindset).domain == .mindset)
    }

    @Test("the confidence is 0 to 1 for scores of any size")
    func extremes() {
        for value in [Float(-1_000), 0, 1_000, 1e30] {
            let scores = DomainScores(values: Domain.allCases.map { $0 == .fitness ? value : 0 }, none: 1, wordCount: 9)
            let decision = DomainRouter.decide(scores, conversationDomain: .mindset)
            #expect((0...1).contains(decision.confidence))
        }
    }
}
