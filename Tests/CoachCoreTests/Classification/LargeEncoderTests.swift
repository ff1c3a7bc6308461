import Testing

@testable import CoachCore

@Suite("Large encoder")
struct LargeEncoderTests {
    private static let danger = CrisisClassifier.outputNames.count

    /// The small encoder's reading of a message. `domain`: the score of the first one, beside others of nothing.
    private func reading(danger: Float, domain: Float, isWhole: Bool = true) throws -> EncoderReading {
        var scores = [Float](repeating: danger, count: MessageEncoder.outputNames.count)
        for index in Self.danger..<scores.count { scores[index] = index == Self.danger ? domain : 0 }
        let linear = [Float](repeating: 0.001, count: Self.danger)
        let passages = MessageEncoder.Passages(parts: [.init(scores: scores, peak: 0..<1)], areComplete: isWhole)
        return try #require(EncoderReading([passages], by: Shipped.encoder, previous: [linear]))
    }

    @Test("reads what the small one leaves open: danger, or the domain of a message that was read at once")
    func open() throws {
        func isOpen(_ reading: EncoderReading, _ grammar: RiskAssessment = .calm) -> Bool {
            Shipped.largeEncoder.isOpen(reading, grammar: grammar)
        }
        #expect(try !isOpen(reading(danger: -20, domain: 20)))
        #expect(try isOpen(reading(danger: 5, domain: 20)))
        #expect(try isOpen(reading(danger: -20, domain: 0)))
        #expect(try !isOpen(reading(danger: -20, domain: 0, isWhole: false)))
        var concern = RiskAssessment.calm
        concern.tier = .concern
        #expect(try isOpen(reading(danger: -20, domain: 20), concern))
    }

    @Test("scores that are not numbers are no reading")
    func notNumbers() {
        let passage = MessageEncoder.Passage(scores: [Float](repeating: .nan, count: MessageEncoder.outputNames.count), peak: 0..<1)
        #expect(EncoderReading([.init(parts: [passage], areComplete: true)], by: Shipped.encoder, previous: [[]]) == nil)
    }

    @Test(
        "is asked for where it is needed, and without it the small one decides",
        arguments: [
            ("Everyone at home would cope better without me around, I have worked it out.", true),
            ("My sister and I argue about the garden fence every spring.", false),
            ("How many sets should I do on leg day?", false),
        ])
    func need(message: String, isNeeded: Bool) {
        let small = MessageAssessor(
            grammar: Shipped.grammar, domains: Shipped.domains, classifier: Shipped.classifier, domainClassifier: nil,
            encoder: Shipped.encoder)
        let first = Shipped.assessor.assess(message)
        var isAsked = false
        let without = Shipped.assessor.encode(message, first) {
            isAsked = true
            return false
        }
        #expect(isAsked == isNeeded)
        #expect(without.risk == small.encode(message, first).risk && without.domains == small.encode(message, first).domains)
        let with = Shipped.assessor.encode(message, first)
        #expect((with.domains != without.domains) == isNeeded)
    }
}
