import Testing

@testable import CoachCore

@Suite("Routing by the encoder")
struct EncodedRoutingTests {
    private func assessor(_ domains: DomainConfigurations = Shipped.domains) -> MessageAssessor {
        MessageAssessor(
            grammar: Shipped.grammar, domains: domains, classifier: Shipped.classifier, domainClassifier: Shipped.domainClassifier,
            encoder: Shipped.encoder, largeEncoder: Shipped.largeEncoder)
    }

    private func decide(_ scores: DomainScores) -> Domain? {
        DomainRouter.decide(scores).domain
    }

    @Test(
        "decides by what a message says, not by its words",
        arguments: [
            ("My sister and I have not spoken since the wedding and I want to call her.", Domain.relationships),
            ("I manage four people and one of them keeps missing what we agreed.", .leadership),
            ("My knees hurt after every run, should I change my plan?", .fitness),
            ("The second act of my play is stuck and I stare at the page all evening.", .creativity),
        ])
    func meaning(message: String, domain: Domain) {
        #expect(decide(assessor().assessFully(message).domains) == domain)
    }

    @Test("leaves foreign topics alone", arguments: ["What is the capital of Mongolia?", "My printer says offline but it is plugged in."])
    func foreign(message: String) { #expect(decide(assessor().assessFully(message).domains) == nil) }

    @Test("a message that is not encoded whole, or too short, keeps the first assessment's domain")
    func long() {
        let message = String(repeating: "We met at nine and I wrote the notes about the new office for the team. ", count: 12)
        for message in [message, "my boss"] {
            let first = assessor().assess(message)
            #expect(assessor().encode(message, first).domains == first.domains)
        }
    }

    @Test("a term that an operator adds raises its domain")
    func terms() throws {
        let message = "How do I get better at hurling before the season starts?"
        let edited = Shipped.domains.all.map { configuration in
            var configuration = configuration
            if configuration.domain == .creativity { configuration.terms.append(.init(phrase: "hurling", weight: 3)) }
            return configuration
        }
        let (before, after) = (assessor(), assessor(DomainConfigurations(edited)))
        let creativity = try #require(Domain.allCases.firstIndex(of: .creativity))
        #expect(after.assessFully(message).domains.values[creativity] > before.assessFully(message).domains.values[creativity])
    }

    @Test("a dry run decides as turns do")
    func replay() {
        let messages = ["My sister and I have not spoken since the wedding.", "hm ok", "My printer says offline."]
        for message in messages {
            #expect(
                MessageAssessor.domains(message, by: [assessor(), assessor()])
                    == [0, 1].map { _ in assessor().assessFully(message).domains })
        }
    }

    @Test("numbers of a dry run are rounded down to steps of five users, and smaller ones hidden", arguments: [0, 1, 4, 5, 9, 10, 23])
    func steps(count: Int) {
        let change = RoutingReplay.Change(from: .fitness, to: nil)
        let replay = RoutingReplay(messages: 100, changes: [change: Set(0..<count), .init(from: nil, to: .fitness): [99]])
        #expect(replay.roundedChanges == (count < 5 ? [:] : [change: count - count % 5]))
        #expect(replay.roundedTotal == (count < 4 ? nil : (count + 1) - (count + 1) % 5))
    }

    @Test("a user counts once in a dry run, in whatever ways their messages change")
    func authors() {
        let changes = [RoutingReplay.Change(from: .fitness, to: nil), .init(from: nil, to: .fitness), .init(from: nil, to: .mindset)]
        let replay = RoutingReplay(messages: 100, changes: Dictionary(uniqueKeysWithValues: changes.map { ($0, Set(1...4)) }))
        #expect(replay.roundedTotal == nil && replay.roundedChanges.isEmpty)
    }
}
