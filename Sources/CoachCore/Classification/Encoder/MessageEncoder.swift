import Foundation

/// A transformer that assesses a message from the order of its words, where the grammar, the terms and the linear models see few words at a time:
/// for danger (`MessageEncoder+risk`) and for the domain (`MessageEncoder+domains`). One reading serves both. It takes some milliseconds of a
/// processor, so it does not run on an event loop.
public struct MessageEncoder: Sendable {
    /// Calibrated by `train.py`.
    struct Limits: Sendable, Equatable {
        /// Minimum probability of the linear model at which danger is open in a message without a card.
        var lowestScore: Float
        /// Minimum probability of a crisis, by the encoder, at which a hit of the grammar at tier 2 stands.
        var lowestConfirmed: Float
        /// Of the linear model's score for a crisis, beside the encoder's.
        var linearWeight: Float
        /// Of the linear model's and the terms' scores for domains, beside the encoder's.
        var linearDomainWeight: Float
        var termWeight: Float

        static let count = 5
    }

    /// A part of a message, read by itself.
    struct Passage: Sendable {
        /// In the order of `outputNames`, not calibrated: for danger the highest of a window, output by output; for domains of all pieces.
        var scores: [Float]
        /// The message was encoded whole, so that no other passage tells more.
        var isWhole: Bool
    }

    /// The names of all outputs, in the order of the file.
    static let outputNames = CrisisClassifier.outputNames + DomainClassifier.outputNames

    /// Words that are encoded together, how many of them two passages share where all of a message is read, and how many stand before the window
    /// that the linear model found most dangerous.
    private static let passageLength = 80
    private static let sharedWords = 32
    private static let wordsBefore = 24
    /// Taken from the scores of messages of more words, of which many harmless ones mention danger somewhere (`calibration.py` does the same).
    private static let longHandicap: Float = 0.5
    private static let longMessage = 48
    /// Most passages of a message.
    private static let maximumPassages = 3

    let limits: Limits
    let outputs: [LinearClassifier.Output]
    private let encoder: TextEncoder

    /// Rejects a file that is damaged or has other outputs than `outputNames`.
    public init(file bytes: Data, named file: String) throws(ConfigurationRejected) {
        let (outputs, limits, encoder) = try TextEncoder.load(file: bytes, named: file, settings: Limits.count)
        guard outputs.map(\.name) == MessageEncoder.outputNames else {
            throw ConfigurationRejected(findings: [
                ConfigurationFinding(file, "", .invalid("must have the outputs \(MessageEncoder.outputNames.joined(separator: ", "))"))
            ])
        }
        self.init(
            outputs: outputs,
            limits: Limits(
                lowestScore: limits[0], lowestConfirmed: limits[1], linearWeight: limits[2], linearDomainWeight: limits[3],
                termWeight: limits[4]),
            encoder: encoder)
    }

    init(outputs: [LinearClassifier.Output], limits: Limits, encoder: TextEncoder) {
        (self.outputs, self.limits, self.encoder) = (outputs, limits, encoder)
    }

    /// A short message whole; all of one that fits into `maximumPassages`; of a longer one what surrounds its most dangerous windows of the linear
    /// model. `linearWindows`: their first words, the most dangerous first.
    func passages(_ words: TokenSequence, linearWindows: [Int]) -> [Passage] {
        let count = words.tokens.count
        let isShort = count <= MessageEncoder.passageLength
        let ranges = isShort ? [0..<count] : starts(of: count, linearWindows).map { $0..<($0 + MessageEncoder.passageLength) }
        let parts = ranges.flatMap { scores(words, $0, handicap: count > MessageEncoder.longMessage ? MessageEncoder.longHandicap : 0) }
        return parts.map { Passage(scores: $0, isWhole: isShort && parts.count == 1) }
    }

    /// The first words of the passages of a message of `count` words, which is longer than one passage.
    private func starts(of count: Int, _ linearWindows: [Int]) -> [Int] {
        let last = count - MessageEncoder.passageLength
        let further = 1 + (last - 1) / (MessageEncoder.passageLength - MessageEncoder.sharedWords)
        guard further >= MessageEncoder.maximumPassages else { return (0...further).map { $0 * last / further } }
        var starts: [Int] = []
        for window in linearWindows where starts.count < MessageEncoder.maximumPassages {
            let start = max(0, min(window - MessageEncoder.wordsBefore, last))
            let isCovered = starts.contains { abs($0 - start) < MessageEncoder.passageLength - MessageEncoder.wordsBefore }
            if !isCovered { starts.append(start) }
        }
        return starts
    }

    /// In parts where the words have more pieces than the encoder has positions. It encodes at least one word at a time.
    private func scores(_ words: TokenSequence, _ range: Range<Int>, handicap: Float) -> [[Float]] {
        var parts: [[Float]] = []
        var rest = encoder.spelling(Array(words.words(range)))[...]
        repeat {
            let (scores, encoded) = encoder.scores(rest, windowed: CrisisClassifier.outputNames.count)
            parts.append(scores.map { $0 - handicap })
            rest = rest.dropFirst(max(encoded, 1))
        } while !rest.isEmpty
        return parts
    }
}

extension TokenSequence {
    /// The UTF-8 of folded words.
    func words(_ range: Range<Int>) -> some Sequence<ArraySlice<UInt8>> { tokens[range].lazy.map { bytes[$0.bytes] } }
}
