import Testing

@testable import CoachCore

/// Pairs of messages with much the same words, of which one is of danger and the other one speaks of it: long ago, at work, in fiction, quoted.
/// The grammar's markers were chosen with them in view, so they show what is held, and nothing about messages that nobody has seen.
@Suite("Danger and its context")
struct ContextCaseTests {
    private static let texts: (danger: [String], calm: [String]) = {
        let lines = (try? Checkout.cases("contexts.txt")) ?? []
        return (
            lines.filter { $0.hasPrefix("+ ") }.map { String($0.dropFirst(2)) },
            lines.filter { $0.hasPrefix("- ") }.map { String($0.dropFirst(2)) }
        )
    }()

    private func share(_ texts: [String], from tier: RiskTier, _ assessor: MessageAssessor) -> Double {
        Double(texts.count { assessor.assessFully($0).risk.tier >= tier }) / Double(texts.count)
    }

    @Test("the grammar alone shows a third of those in danger as acute, and one in twenty of the calm ones")
    func grammar() {
        let texts = Self.texts
        #expect(texts.danger.count == 240 && texts.calm.count == 240)
        let (danger, calm) = (
            share(texts.danger, from: .high, Shipped.grammarAlone), share(texts.calm, from: .high, Shipped.grammarAlone)
        )
        #expect(danger >= 0.32 && calm <= 0.06, "\(danger), \(calm)")
    }

    @Test("with the models nearly nine in ten in danger get a card, and less than a third of the calm ones")
    func all() {
        let (danger, calm) = (
            share(Self.texts.danger, from: .crisis, Shipped.assessor), share(Self.texts.calm, from: .crisis, Shipped.assessor)
        )
        #expect(danger >= 0.87 && calm <= 0.32, "\(danger), \(calm)")
    }
}
