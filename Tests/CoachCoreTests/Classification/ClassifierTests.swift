import Foundation
import Testing

@testable import CoachCore

@Suite("Crisis model")
struct ClassifierTests {
    private let file = "domains/safety/model.bin"

    @Test("the shipped file is read and written back unchanged, in at most 1 MiB")
    func roundTrip() throws {
        let bytes = try Checkout.data(file)
        #expect(bytes.count <= 1 << 20)
        #expect(try LinearClassifier(file: bytes, named: file).file == bytes)
    }

    @Test("the highest window or the mean of windows is a message's score")
    func pooling() throws {
        let text = String(repeating: "squats in the gym ", count: 20) + String(repeating: "the cover letter ", count: 20)
        let features = try #require(Shipped.assessor.analyse(text).features.first)
        #expect(features.ends.count > 1)
        let model = Shipped.classifier.classifier
        let pairs = Array(zip(model.scores(features, .highest), model.scores(features, .mean)))
        #expect(pairs.allSatisfy { $0 >= $1 - 0.001 })
        #expect(pairs.contains { $0 > $1 + 0.01 })
    }

    @Test("a damaged, cut, empty or foreign file is a finding")
    func damaged() throws {
        let bytes = try Checkout.data(file)
        var flipped = bytes
        flipped[bytes.count / 2] ^= 1
        var version = bytes
        version[8] = 9
        for invalid in [flipped, version, bytes.dropLast(), [], Array("{}".utf8), Array(bytes.prefix(40))] {
            #expect(throws: ConfigurationRejected.self) { try LinearClassifier(file: invalid, named: file) }
        }
    }

    @Test("a model with other outputs is refused")
    func otherOutputs() throws {
        let model = try LinearClassifier(file: Checkout.data(file), named: file)
        var outputs = model.outputs
        outputs[0].name = "weather"
        #expect(throws: ConfigurationRejected.self) { try CrisisClassifier(model.calibrated(by: outputs), file: file) }
    }

    @Test("danger keeps its score at the start, in the middle and at the end of a long message")
    func windows() throws {
        let filler = String(repeating: "We talked about the quarterly plan and the weather. ", count: 40)
        for message in [filler, filler + filler] {
            let features = Shipped.assessor.analyse(message).features
            #expect(features.allSatisfy { $0.ends.count > 1 })
        }
        let danger = "my boyfriend choked me again last night and I hid the bruises with a scarf"
        let alone = try #require(Shipped.assessor.analyse(danger).features.first)
        let buried = try #require(Shipped.assessor.analyse(filler + danger + ". " + filler).features.first)
        let known = Set(alone.buckets)
        let most = buried.ends.indices.map { known.intersection(buried.window($0)).count }.max() ?? 0
        #expect(Double(most) >= 0.95 * Double(known.count))
    }

    @Test("a message without words has one window")
    func empty() {
        for message in ["", "…", "💙"] { #expect(Shipped.assessor.analyse(message).features.map(\.ends.count) == [1]) }
    }

    @Test("without a model the grammar alone decides, and with one no tier of the grammar is lowered")
    func grammarAlone() throws {
        let alone = MessageAssessor(grammar: Shipped.grammar, domains: Shipped.domains, classifier: nil, domainClassifier: nil)
        for line in try Checkout.cases("must-pass.txt") {
            let message = line.split(separator: " ", maxSplits: 2).map(String.init)[2]
            let tier = alone.assess(message).risk.tier
            #expect(tier >= .crisis)
            #expect(Shipped.assessor.assess(message).risk.tier >= tier)
        }
    }

    @Test("the outputs that reach their thresholds decide tier, categories and subject")
    func decision() {
        let names = CrisisClassifier.outputNames
        let outputs = names.map { name in
            LinearClassifier.Output(name: name, scale: 1, bias: 0, slope: 1, offset: 0, threshold: 0.5, thresholdAfterConcern: 0.5)
        }
        func assess(_ high: Set<String>) -> RiskAssessment {
            CrisisClassifier.assess(names.map { high.contains($0) ? 0.9 : 0.1 }, outputs: outputs)
        }
        #expect(assess([]).tier == .none && assess([]).patterns.isEmpty && assess([]).score == 0.1)
        #expect(assess(["concern"]).tier == .concern)
        #expect(assess(["crisis", "abuse"]).categories == [.abuse])
        #expect(assess(["crisis"]).categories.count == 1)
        #expect(assess(["crisis", "high"]).tier == .high)
        #expect(assess(["crisis", "imminent", "other"]).tier == .imminent)
        #expect(assess(["crisis", "imminent", "other"]).subject == .other)
        #expect(assess(["high", "imminent"]).tier == .none)
    }

    @Test("a score between the two thresholds shows a card only after a stored concern")
    func afterConcern() {
        var outputs = Shipped.classifier.classifier.outputs.map(\.inactive)
        let crisis = 1
        outputs[crisis].threshold = 0.7
        outputs[crisis].thresholdAfterConcern = 0.5
        var probabilities = [Float](repeating: 0, count: outputs.count)
        probabilities[crisis] = 0.6
        let risk = CrisisClassifier.assess(probabilities, outputs: outputs)
        #expect(risk.tier < .crisis)
        #expect(Shipped.fusion.fuse(risk, stored: .calm).risk.tier < .crisis)
        #expect(Shipped.fusion.fuse(risk, stored: .concern).risk.tier == .crisis)
    }
}
