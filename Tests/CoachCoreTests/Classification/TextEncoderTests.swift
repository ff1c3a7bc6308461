import Foundation
import JSON
import Testing

@testable import CoachCore

@Suite("Encoder")
struct TextEncoderTests {
    @Test("words are split into the longest pieces of the vocabulary")
    func pieces() throws {
        let pieces = ["[UNK]", "[CLS]", "[SEP]", "good", "goodby", "##bye", "##e", "##s"].map { Array($0.utf8) }
        let vocabulary = try #require(WordPieces(pieces))
        func numbers(_ word: String) -> [Int] {
            var numbers: [Int] = []
            vocabulary.append(Array(word.utf8)[...], to: &numbers)
            return numbers
        }
        #expect(numbers("good") == [3] && numbers("goodbye") == [4, 6] && numbers("goods") == [3, 7])
        #expect(numbers("bye") == [0] && numbers("goodx") == [0])
        #expect(numbers(String(repeating: "good", count: 20)) == [0])
        #expect(WordPieces([Array("good".utf8)]) == nil)
    }

    /// The network of `train.py` computed the scores, with 32-bit weights: what differs is rounding to 8 bits.
    @Test("the scores are those of the trained network")
    func scores() throws {
        let golden = try JSONValue(parsing: Array(Checkout.data("Tests/CoachCoreTests/Golden/encoder-scores.json"))).elements ?? []
        let encoder = try TextEncoder.load(file: Checkout.data("domains/safety/encoder.bin"), named: "encoder.bin").encoder
        #expect(golden.count >= 4)
        for example in golden {
            let text = try #require(example["text"]?.string)
            let words = Shipped.assessor.words(of: text).map { Array($0.utf8)[...] }
            for (score, expected) in zip(encoder.scores(words).scores, example["scores"]?.elements?.compactMap(\.number) ?? []) {
                #expect(abs(Double(score) - expected) < 0.35, "\(text): \(score), \(expected)")
            }
        }
    }

    @Test("a damaged or shortened file is rejected")
    func damaged() throws {
        var file = try Checkout.data("domains/safety/encoder.bin")
        #expect(throws: ConfigurationRejected.self) { try CrisisEncoder(file: file.dropLast(1), named: "encoder.bin") }
        #expect(throws: ConfigurationRejected.self) { try CrisisEncoder(file: Data(), named: "encoder.bin") }
        file[file.count / 2] ^= 1
        #expect(throws: ConfigurationRejected.self) { try CrisisEncoder(file: file, named: "encoder.bin") }
    }

    @Test("the grammar's hits of tier 3 stand, whatever the encoder finds; without it nothing is read again")
    func grammar() throws {
        let message = "I'm going to kill myself tonight"
        #expect(Shipped.assessor.assessFully(message).risk.tier >= .high)
        let first = Shipped.assessor.assess("I am tired of the whole thing and of all of it lately")
        let alone = MessageAssessor(
            grammar: Shipped.grammar, domains: Shipped.domains, classifier: Shipped.classifier, domainClassifier: nil)
        #expect(!alone.needsEncoder(first) && alone.assessFully(message).risk == alone.assess(message).risk)
    }

    @Test("danger is found wherever it stands in a long message", arguments: [0, 1, 2])
    func long(position: Int) {
        let ordinary = String(repeating: "We met at nine, and I wrote the notes for the team about the new office. ", count: 12)
        var parts = [ordinary, ordinary]
        parts.insert("I have written the letters for my children and I will not be here on Sunday. ", at: position)
        #expect(Shipped.assessor.assessFully(parts.joined()).risk.tier >= .crisis)
        #expect(Shipped.assessor.assessFully(ordinary + ordinary).risk.tier < .crisis)
    }
}
