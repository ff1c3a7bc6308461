import Testing

@testable import CoachCore

/// Pairs of messages with much the same words, of which one is of danger and the other one speaks of it: long ago, at work, in fiction, quoted.
/// What the models make of the words around: an attempt at fifteen and one tonight, a caller's pills and one's own.
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

    @Test("the grammar alone shows a third of those in danger as acute, and one in seven of the calm ones")
    func grammar() {
        let texts = Self.texts
        #expect(texts.danger.count == 240 && texts.calm.count == 240)
        let (danger, calm) = (
            share(texts.danger, from: .high, Shipped.grammarAlone), share(texts.calm, from: .high, Shipped.grammarAlone)
        )
        #expect(danger >= 0.35 && calm <= 0.15, "\(danger), \(calm)")
    }

    @Test("with the models nine in ten in danger get a card, and a third of the calm ones")
    func all() {
        let (danger, calm) = (
            share(Self.texts.danger, from: .crisis, Shipped.assessor), share(Self.texts.calm, from: .crisis, Shipped.assessor)
        )
        #expect(danger >= 0.88 && calm <= 0.34, "\(danger), \(calm)")
    }
}
