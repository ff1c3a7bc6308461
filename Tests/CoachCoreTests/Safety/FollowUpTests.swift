import TestSupport
import Testing

@testable import CoachCore

/// Short messages that follow another one of their user: `follow-ups.txt`.
@Suite("A message and what was said before it")
struct FollowUpTests {
    private struct FollowUp {
        var isDanger: Bool
        var writer: Character
        var before: String
        var message: String

        init?(_ line: String) {
            guard let sign = line.first, "+-".contains(sign) else { return nil }
            let texts = line.dropFirst(3).split(separator: " | ", maxSplits: 1).map(String.init)
            guard texts.count == 2, let writer = line.dropFirst().first else { return nil }
            (isDanger, self.writer, before, message) = (sign == "+", writer, texts[0], texts[1])
        }
    }

    private static let cases = ((try? Checkout.cases("follow-ups.txt")) ?? []).compactMap(FollowUp.init)

    private static func hasCard(_ message: String, after earlier: [String]) -> Bool {
        let alone = Shipped.assessor.assessFully(message)
        return Shipped.assessor.reassess(message, alone, after: earlier).risk.tier >= .crisis
    }

    @Test(
        "harmless fragments lose their card by it, danger keeps it",
        arguments: [("ab", 0.7, 0.29), ("c", 0.54, 0.13)])
    func shares(writers: String, danger: Double, calm: Double) {
        func share(_ isDanger: Bool, _ earlier: (FollowUp) -> [String]) -> Double {
            let cases = Self.cases.filter { $0.isDanger == isDanger && writers.contains($0.writer) }
            return Double(cases.count { Self.hasCard($0.message, after: earlier($0)) }) / Double(cases.count)
        }
        let alone = (danger: share(true) { _ in [] }, calm: share(false) { _ in [] })
        let after = (danger: share(true) { [$0.before] }, calm: share(false) { [$0.before] })
        #expect(after.danger >= danger && after.calm <= calm, "\(alone) by themselves, \(after) after what was said")
    }

    @Test("the newest message of more than two words is read, with what was said after it")
    func before() {
        let (boots, message) = ("I need new hiking boots for Saturday, my old ones leak.", "I got them this morning.")
        #expect(Self.hasCard(message, after: []))
        #expect(!Self.hasCard(message, after: [boots]))
        // The last message that says something.
        #expect(!Self.hasCard(message, after: ["I can't see a way through this month.", boots, "size 43", "thanks"]))
        #expect(Self.hasCard(message, after: [boots, "I keep thinking everyone would be better off if I wasn't here."]))
        #expect(Self.hasCard(message, after: ["thanks", "ok"]))
        // The end of a long one.
        let long = String(repeating: "We met at nine and I wrote the notes about the new office. ", count: 60)
        #expect(!Self.hasCard(message, after: [long + boots]))
        #expect(Self.hasCard(message, after: [long + "I keep thinking everyone would be better off if I wasn't here."]))
    }

    @Test(
        "where the grammar decides, or a message is no fragment, nothing else is read",
        arguments: [
            "I'm going to kill myself tonight", "I want to kill myself", "I w4nt t0 d1e",
            "Last thing on the list is done, my sister has the dog now. After Sunday nobody has to look after me any more.",
        ])
    func others(message: String) {
        let alone = Shipped.assessor.assessFully(message)
        #expect(alone.risk.tier >= .crisis && Shipped.assessor.assessmentByGrammar(ofFragment: message, alone) == nil)
        let after = Shipped.assessor.reassess(message, alone, after: ["I need new hiking boots for Saturday, my old ones leak."])
        #expect(after.risk == alone.risk && after.domains == alone.domains)
    }

    @Test(
        "a fragment of vague words with nothing before it has a card that is not acute, and none when it names a supplement",
        arguments: [
            ("hab sie schon genommen", RiskTier.crisis), ("ya me los tomé", .crisis), ("I took it this morning", .crisis),
            ("acabei de tomar", .crisis), ("ya me tomé la creatina", .none), ("ich hab das Kreatin schon genommen", .none),
        ])
    func vague(message: String, tier: RiskTier) {
        let alone = Shipped.assessor.assessFully(message)
        #expect(alone.risk.tier >= .high && Shipped.assessor.isVague(message))
        for earlier in [[], ["thanks"]] {
            let risk = Shipped.assessor.reassess(message, alone, after: earlier).risk
            #expect(risk.tier == tier && risk.score == alone.risk.score)
        }
        let danger = ["I keep thinking everyone would be better off if I wasn't here."]
        if tier == .crisis { #expect(Shipped.assessor.reassess(message, alone, after: danger).risk == alone.risk) }
    }

    @Test(
        "an amount, a means or a person is not vague",
        arguments: [
            "I took them all", "ya me las tomé todas", "je les ai tous pris", "já tomei tudo", "I took 30 of them", "I have it in my hand",
            "he is outside", "already swallowed it", "doing it right now", "ich bin auf der Brücke", "took all my vitamins at once",
            "i have my son with me", "I took my son", "i take my vitamins tonight and then i die", "hoje acabo comigo", "acabei comigo",
        ])
    func notVague(message: String) {
        let alone = Shipped.assessor.assessFully(message)
        #expect(!Shipped.assessor.isVague(message) && Shipped.assessor.reassess(message, alone, after: []).risk == alone.risk)
    }

    @Test("without the large encoder, or time for it, a fragment keeps its card")
    func noTime() {
        let (boots, message) = ("I need new hiking boots for Saturday, my old ones leak.", "I got them this morning.")
        let alone = Shipped.assessor.assessFully(message)
        #expect(alone.risk.tier >= .crisis)
        #expect(Shipped.assessor.reassess(message, alone, after: [boots]) { false }.risk == alone.risk)
        let small = MessageAssessor(
            grammar: Shipped.grammar, domains: Shipped.domains, classifier: Shipped.classifier, domainClassifier: nil,
            encoder: Shipped.encoder)
        #expect(small.reassess(message, alone, after: [boots]).risk == alone.risk)
    }
}
