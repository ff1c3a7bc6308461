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
        /// In the order of `outputNames`, not calibrated.
        var scores: [Float]
        /// The message was encoded whole, so that no other passage tells more.
        var isWhole: Bool
    }

    /// A window of the linear model (`MessageFeatures.windowLength` words).
    struct Window: Sendable {
        var firstWord: Int
        /// The probability of a crisis, by the linear model.
        var danger: Float
    }

    /// The names of all outputs, in the order of the file.
    static let outputNames = CrisisClassifier.outputNames + DomainClassifier.outputNames

    /// Words that are encoded together, and how many of them stand before the window that the linear model found most dangerous.
    private static let passageLength = 80
    private static let wordsBefore = 24
    /// Taken from the scores of a passage that is not the whole message: it seems graver without what surrounds it, and the highest of several counts.
    private static let partHandicap: Float = 0.5
    /// Taken from all scores of a message of more words: who tells much tells hard things too, and one in four of those that are harmless would
    /// get a card.
    private static let longHandicap: Float = 0.5
    private static let longMessage = 48
    /// Only a part of a message may show danger if the linear model's probability of a crisis is lower than this in a quarter of its windows.
    /// Such a message has a smaller handicap: a tenth more cards are kept when a message stands among ordinary sentences (`MODEL.md`).
    private static let calmWindow: Float = 0.02
    /// Passages of one message, beside an excerpt.
    private static let maximumPassages = 2

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

    /// A short message whole; all of one that fits into two passages; of a longer one what surrounds its most dangerous windows. The most
    /// dangerous one of a message that has several is read by itself as well. `windows`: the most dangerous first.
    func passages(_ words: TokenSequence, windows: [Window]) -> [Passage] {
        let count = words.tokens.count
        let isShort = count <= MessageEncoder.passageLength
        let ranges = isShort ? [0..<count] : starts(of: count, windows).map { $0..<($0 + MessageEncoder.passageLength) }
        let isUneven = isUneven(windows)
        let long = count > MessageEncoder.longMessage ? MessageEncoder.longHandicap : 0
        let handicap = isShort ? long : MessageEncoder.partHandicap + (isUneven ? 0 : long)
        let parts = ranges.flatMap { scores(words, $0, handicap: handicap) }
        let excerpts = excerpt(words, windows).map { scores(words, $0, handicap: isUneven ? 0 : long + MessageEncoder.partHandicap) } ?? []
        return (parts + excerpts).map { Passage(scores: $0, isWhole: isShort && parts.count == 1) }
    }

    /// Whether a quarter of a message is calm, so that danger may be in one part of it only. Harmless messages about hard things mention them
    /// in most of their windows.
    private func isUneven(_ windows: [Window]) -> Bool {
        windows.count > 2 && windows[windows.count * 3 / 4].danger < MessageEncoder.calmWindow
    }

    /// The most dangerous window with the rest of the sentences that it begins and ends in, as long as these are not long. nil in a message that
    /// is hardly longer.
    private func excerpt(_ words: TokenSequence, _ windows: [Window]) -> Range<Int>? {
        let tokens = words.tokens
        let (length, rest) = (MessageFeatures.windowLength, MessageFeatures.windowStride)
        guard tokens.count > length + rest, var start = windows.first?.firstWord else { return nil }
        var end = min(start + length, tokens.count)
        let (earliest, latest) = (max(start - rest, 0), min(end + rest, tokens.count))
        while start > earliest, tokens[start - 1].sentence == tokens[start].sentence { start -= 1 }
        while end < latest, tokens[end].sentence == tokens[end - 1].sentence { end += 1 }
        return start..<end
    }

    /// The first words of the passages of a message of `count` words, which is longer than one passage.
    private func starts(of count: Int, _ windows: [Window]) -> [Int] {
        let last = count - MessageEncoder.passageLength
        guard last > MessageEncoder.passageLength else { return [0, last] }
        var starts: [Int] = []
        for window in windows where starts.count < MessageEncoder.maximumPassages {
            let start = max(0, min(window.firstWord - MessageEncoder.wordsBefore, last))
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
            let (scores, encoded) = encoder.scores(rest)
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
