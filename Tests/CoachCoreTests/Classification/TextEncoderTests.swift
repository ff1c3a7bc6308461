import Foundation
import JSON
import TestSupport
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

    /// The network of `train.py` computed the scores, rounding as the gateway does; a value that is rounded the other way changes those behind it,
    /// by up to 0.3 in these texts. The large one's scores are spread four times as far.
    @Test("the scores are those of the trained network", arguments: [("encoder", 0.35), ("encoder-large", 1)])
    func scores(name: String, tolerance: Double) throws {
        let golden = try JSONValue(parsing: Checkout.data("Tests/CoachCoreTests/Golden/\(name)-scores.json")).elements ?? []
        let file = try Checkout.data("domains/\(name).bin")
        let encoder = try TextEncoder.load(file: file, named: name, settings: MessageEncoder.Limits.count).encoder
        #expect(golden.count >= 4)
        for example in golden {
            let text = try #require(example["text"]?.string)
            let words = encoder.spelling(Shipped.assessor.words(of: text).map { Array($0.utf8)[...] })
            let scores = encoder.encode(words, windowed: CrisisClassifier.outputNames.count, located: 0).scores
            let expectations = example["scores"]?.elements?.compactMap(\.number) ?? []
            #expect(scores.count == expectations.count)
            for (score, expected) in zip(scores, expectations) {
                #expect(abs(Double(score) - expected) < tolerance, "\(text): \(score), \(expected)")
            }
        }
    }

    @Test("danger in a few pieces counts wherever they stand", arguments: [2, 31, 32, 33, 40, 41, 128])
    func windows(count: Int) {
        let shape = TextEncoder.Shape(width: 64, innerWidth: 64, heads: 2, positions: 128, windowLength: 32, windowStride: 8)
        let window = Float(min(count, 32))
        for index in 0..<count {
            var values = [Float](repeating: -1, count: count)
            values[index] = 99
            #expect(abs(shape.highestWindow(of: values).mean - (100 / window - 1)) < 1e-4, "\(index) of \(count)")
        }
        #expect(shape.highestWindow(of: (0..<count).map(Float.init)).mean == Float(count) - (window + 1) / 2)
    }

    @Test("the words that most resemble a crisis are found wherever they stand", arguments: [0, 1, 5])
    func peak(sentencesBefore: Int) throws {
        let encoder = try TextEncoder.load(
            file: Checkout.data("domains/encoder-large.bin"), named: "encoder-large", settings: MessageEncoder.Limits.count
        ).encoder
        let other = "We met at nine and I wrote the notes about the new office. "
        let (before, danger) = (String(repeating: other, count: sentencesBefore), "I am going to kill myself tonight. ")
        let words = { (text: String) in Shipped.assessor.words(of: text).map { Array($0.utf8)[...] } }
        let first = words(before).count
        let text = words(before + danger + other)
        let encoded = encoder.encode(text, windowed: CrisisClassifier.outputNames.count, located: MessageEncoder.crisis)
        #expect(encoded.words == text.count && encoded.peak.overlaps(first..<(first + words(danger).count)), "\(encoded.peak)")
        // Nothing to read, and fewer words than positions.
        let empty = encoder.encode([], windowed: CrisisClassifier.outputNames.count, located: MessageEncoder.crisis)
        #expect(empty.words == 1 && empty.peak == 0..<1)
        let long = encoder.encode(
            words(String(repeating: other, count: 40)), windowed: CrisisClassifier.outputNames.count, located: MessageEncoder.crisis)
        #expect((1..<480).contains(long.words) && long.peak.upperBound <= long.words)
    }

    @Test("a projection rounds a row to 8 bits and adds exactly")
    func projection() throws {
        let (inputs, outputs, rows) = (12, TextEncoder.columnUnit * 2, 8)
        let values: [Int8] = (0..<(inputs * outputs)).map { Int8(truncatingIfNeeded: $0 * 37) }
        let bytes = values.map { UInt8(bitPattern: $0) }
        let scales: [Float] = (0..<outputs).map { 0.01 * Float(1 + $0 % 5) }
        let bias: [Float] = (0..<outputs).map { Float($0 % 7) - 3 }
        let x: [Float] = (0..<(rows * inputs)).map { Float(($0 * 29) % 41) / 10 - 2 }
        let projection = try #require(TextEncoder.Projection(values: bytes[...], scales: scales, bias: bias))
        let y = projection(x, rows: rows)
        for row in 0..<rows {
            let inputsOfRow = x[(row * inputs)..<((row + 1) * inputs)]
            let highest = try #require(inputsOfRow.map(abs).max())
            let rounded = inputsOfRow.map { Int($0 * (127 / highest) + 128.5) - 128 }
            for output in 0..<outputs {
                let sum = (0..<inputs).reduce(0) { $0 + rounded[$1] * Int(values[$1 * outputs + output]) }
                #expect(abs(y[row * outputs + output] - (highest / 127 * scales[output] * Float(sum) + bias[output])) < 1e-4)
            }
        }
        #expect(projection([Float](repeating: .nan, count: rows * inputs), rows: rows).count == rows * outputs)
        #expect(TextEncoder.Projection(values: bytes.dropLast(), scales: scales, bias: bias) == nil)
        #expect(TextEncoder.Projection(values: bytes.prefix(outputs * 3), scales: scales, bias: bias) == nil)
    }

    /// The lengths are beside the chunks that kernels work on, and those of the shipped networks.
    @Test("every kernel that this processor has adds exactly", arguments: [4, 12, 252, 256, 260, 384, 516, 768, 1536, 3072])
    func kernels(inputs: Int) throws {
        let (outputs, rows) = (TextEncoder.columnUnit * 2, 8)
        var random = SeededGenerator(state: UInt64(inputs))
        // A row whose highest value is 127 keeps its whole numbers.
        let x: [[Int]] = (0..<rows).map { row in
            switch row {
            case 0: [Int](repeating: 127, count: inputs)
            case 1: [Int](repeating: -127, count: inputs)
            case 2: (0..<inputs).map { $0.isMultiple(of: 2) ? 127 : -127 }
            default: [127] + (1..<inputs).map { _ in Int.random(in: -127...127, using: &random) }
            }
        }
        let weights: [[Int]] = (0..<outputs).map { output in
            switch output {
            case 0: [Int](repeating: -128, count: inputs)
            case 1: [Int](repeating: 127, count: inputs)
            case 2: (0..<inputs).map { $0.isMultiple(of: 2) ? -128 : 127 }
            default: (0..<inputs).map { _ in Int.random(in: -128...127, using: &random) }
            }
        }
        let projection = try #require(
            TextEncoder.Projection(
                values: (0..<inputs).flatMap { input in weights.map { UInt8(bitPattern: Int8($0[input])) } }[...],
                scales: [Float](repeating: 1, count: outputs), bias: [Float](repeating: 0, count: outputs)))
        let sums: [Float] = x.flatMap { row in weights.map { Float(TextEncoderTests.product(row, $0)) } }
        let values = x.joined().map { Float($0) }
        #expect(!TextEncoder.kernels.isEmpty)
        for kernel in TextEncoder.kernels { #expect(projection(values, rows: rows, by: kernel) == sums, "\(kernel)") }
    }

    private static func product(_ x: [Int], _ y: [Int]) -> Int { x.indices.reduce(0) { $0 + x[$1] * y[$1] } }

    /// The numbers of tokens and the sizes of heads are beside those that are worked on at once.
    @Test(
        "a token takes from all of them by the products of its query and their keys, and the bias of their distance",
        arguments: [1, 4, 15, 16, 17, 33, 80], [5, 16, 32])
    func attention(tokens: Int, size: Int) {
        let (heads, distance) = (3, TextEncoder.RelativePositionBias.distance(for: tokens))
        var random = SeededGenerator(state: UInt64(tokens + size))
        let values = (0..<(2 * distance * heads)).map { _ in Float.random(in: -2...2, using: &random) }
        expectAttention(tokens: tokens, size: size, heads: heads, bias: nil) { _, _ in 0 }
        let bias = TextEncoder.RelativePositionBias(values, distance: distance, heads: heads)
        expectAttention(tokens: tokens, size: size, heads: heads, bias: bias) { Double(values[$0 * 2 * distance + distance + $1]) }
    }

    private func expectAttention(
        tokens: Int, size: Int, heads: Int, bias: TextEncoder.RelativePositionBias?, expectedBias: (_ head: Int, _ distance: Int) -> Double
    ) {
        let rows = TextEncoder.rows(for: tokens)
        let width = heads * size
        var random = SeededGenerator(state: UInt64(tokens * size))
        let qkv = (0..<(rows * width * 3)).map { _ in Float.random(in: -3...3, using: &random) }
        func value(_ token: Int, _ part: Int, _ index: Int) -> Double { Double(qkv[(token * 3 + part) * width + index]) }
        let attended = TextEncoder.attend(qkv, tokens: tokens, heads: heads, bias: bias)
        for token in 0..<tokens {
            for head in 0..<heads {
                let own = (head * size)..<((head + 1) * size)
                let products = (0..<tokens).map { other in own.reduce(0) { $0 + value(token, 0, $1) * value(other, 1, $1) } }
                let shares = products.enumerated().map { exp($1 / Double(size).squareRoot() + expectedBias(head, $0 - token)) }
                let sum = shares.reduce(0, +)
                for index in own {
                    let expected = (0..<tokens).reduce(0) { $0 + shares[$1] / sum * value($1, 2, index) }
                    #expect(abs(Double(attended[token * width + index]) - expected) < 1e-4)
                }
            }
        }
    }

    @Test("what is no number stays where it is")
    func noNumber() {
        let (tokens, heads, width) = (5, 2, 32)
        var qkv = [Float](repeating: 1, count: TextEncoder.rows(for: tokens) * width * 3)
        // The query of the third token, for the first head.
        qkv[2 * width * 3] = .nan
        let attended = TextEncoder.attend(qkv, tokens: tokens, heads: heads)
        for token in 0..<tokens where token != 2 { #expect(attended[token * width] == 1) }
        #expect(attended[2 * width + width / heads] == 1)
    }

    @Test("a row is normalised by its own mean and variance")
    func normalisation() {
        let (rows, width) = (5, TextEncoder.columnUnit * 3)
        var random = SeededGenerator(state: 7)
        let x = (0..<(rows * width)).map { _ in Float.random(in: -3...5, using: &random) }
        let added = x.map { _ in Float.random(in: -3...5, using: &random) }
        let weight = (0..<width).map { Float($0 % 5) - 2 }
        let bias = (0..<width).map { Float($0 % 7) - 3 }
        var y = x
        TextEncoder.Normalisation(weight: weight, bias: bias)(&y, adding: added)
        for row in 0..<rows {
            let own = (row * width)..<((row + 1) * width)
            let sums = own.map { Double(x[$0] + added[$0]) }
            let mean = sums.reduce(0, +) / Double(width)
            let variance = sums.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(width)
            for (index, sum) in zip(own, sums) {
                let column = index - own.lowerBound
                let expected = (sum - mean) / variance.squareRoot() * Double(weight[column]) + Double(bias[column])
                #expect(abs(Double(y[index]) - expected) < 1e-4)
            }
        }
    }

    @Test("a damaged or shortened file, and one that was calibrated behind another, is rejected", arguments: ["encoder", "encoder-large"])
    func damaged(name: String) throws {
        let file = try Checkout.data("domains/\(name).bin")
        func expectRejected(_ file: [UInt8], previous: MessageEncoder?) {
            #expect(throws: ConfigurationRejected.self) { try MessageEncoder(file: file, named: name, previous: previous) }
        }
        let previous = name == "encoder" ? nil : Shipped.encoder
        expectRejected(file.dropLast(1), previous: previous)
        expectRejected([], previous: previous)
        var changed = file
        changed[file.count / 2] ^= 1
        expectRejected(changed, previous: previous)
        expectRejected(file, previous: name == "encoder" ? Shipped.encoder : nil)
    }

    @Test("the grammar's hits of tier 3 stand, whatever the encoder finds; without it nothing is read again")
    func grammar() throws {
        let message = "I'm going to kill myself tonight"
        #expect(Shipped.assessor.assessFully(message).risk.tier >= .high)
        let first = Shipped.assessor.assess("I am tired of the whole thing and of all of it lately")
        let alone = MessageAssessor(
            grammar: Shipped.grammar, domains: Shipped.domains, classifier: Shipped.classifier, domainClassifier: nil)
        #expect(alone.encodingNeed(first) == nil && alone.assessFully(message).risk == alone.assess(message).risk)
    }

    @Test(
        "danger is found in mistyped messages",
        arguments: [
            "I want to kil myself", "i wnat to kill myslef tonigth", "im gona kill mysefl", "I whant to end my life",
            "my huband hits me evry nigth",
        ])
    func mistyped(message: String) { #expect(Shipped.assessor.assessFully(message).risk.tier >= .crisis) }

    @Test("danger is found wherever it stands in a long message", arguments: [0, 1, 2])
    func long(position: Int) {
        let ordinary = String(repeating: "We met at nine, and I wrote the notes for the team about the new office. ", count: 12)
        var parts = [ordinary, ordinary]
        parts.insert("I have written the letters for my children and I will not be here on Sunday. ", at: position)
        #expect(Shipped.assessor.assessFully(parts.joined()).risk.tier >= .crisis)
        #expect(Shipped.assessor.assessFully(ordinary + ordinary).risk.tier < .crisis)
    }
}
