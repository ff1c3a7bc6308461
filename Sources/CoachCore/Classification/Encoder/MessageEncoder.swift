/// A transformer that assesses a message for danger (`MessageEncoder+risk`) and for its domain (`MessageEncoder+domains`) in one reading. It knows the order
/// of all words, while the grammar, the terms and the linear models know few words at a time. It takes milliseconds of a processor, so it must not run on
/// an event loop.
///
/// There are two stages: a small encoder, whose previous model is the linear one, and a large encoder, whose previous model is the small one. The
/// large one reads only the messages in which the small one leaves danger or the domain open.
public struct MessageEncoder: Sendable {
    /// The weights and thresholds of the file. `train.py` calibrates them or has them as constants or options.
    struct Limits: Sendable, Equatable {
        /// Minimum probability of a crisis, by the previous model, at which danger is open in a message without a card.
        var lowestScore: Float
        /// Minimum probability of a crisis, by the encoder, at which a hit of the grammar at tier 2 stands.
        var lowestConfirmed: Float
        /// The weight of the previous model's score for a crisis, beside the encoder's.
        var previousWeight: Float
        /// The weight of the scores for domains by the previous model and the terms, beside the encoder's.
        var previousDomainWeight: Float
        var termWeight: Float
        /// For the large encoder: the probability of the best domain, by the small one, at which the domain is sure.
        var sureDomain: Float
        /// Subtracted from the scores for a crisis of long messages, because many harmless ones mention danger somewhere: of those that are read at once, and
        /// of those that are read in passages.
        var longHandicap: Float
        var passagesHandicap: Float

        static let count = 8
    }

    /// A part of a message, read by itself.
    struct Passage: Sendable {
        /// In the order of `outputNames`, not calibrated: for danger the highest of a window, output by output; for domains of all pieces.
        var scores: [Float]
        /// The message's words that most resemble a crisis.
        var peak: Range<Int>
    }

    /// The parts of one form of a message that were read.
    struct Passages: Sendable {
        /// At least one.
        var parts: [Passage]
        /// Whether each word of the message is in one of the parts.
        var areComplete: Bool

        /// The only part, when it is the whole message; nil otherwise.
        var whole: Passage? { areComplete && parts.count == 1 ? parts[0] : nil }
    }

    /// The names of all outputs, in the order of the file.
    static let outputNames = CrisisClassifier.outputNames + DomainClassifier.outputNames

    /// Words that are encoded together.
    private static let passageLength = 80
    /// Words that two neighbouring passages share when all of a message is read.
    private static let sharedWords = 32
    /// Words of a passage before the window that the linear model found most dangerous.
    private static let wordsBefore = 24
    /// A long message has more words. `train.py` counts the same.
    private static let longMessage = 48
    /// The most passages of a message.
    private static let maximumPassages = 3

    let limits: Limits
    let outputs: [LinearClassifier.Output]
    /// The checksum at the end of the file.
    public let checksum: [UInt8]
    private let encoder: TextEncoder

    /// Rejects a file that is damaged, has other outputs than `outputNames`, or was calibrated behind another encoder than `previous`: nil behind
    /// the linear model.
    public init(file bytes: [UInt8], named file: String, previous: MessageEncoder? = nil) throws(ConfigurationRejected) {
        let content = try TextEncoder.load(file: bytes, named: file, settings: Limits.count)
        func rejected(_ reason: String) -> ConfigurationRejected {
            ConfigurationRejected(findings: [ConfigurationFinding(file, "", .invalid(reason))])
        }
        guard content.outputs.map(\.name) == MessageEncoder.outputNames else {
            throw rejected("must have the outputs \(MessageEncoder.outputNames.joined(separator: ", "))")
        }
        guard content.previous == previous?.checksum else { throw rejected("was calibrated behind another encoder") }
        let settings = content.settings
        limits = Limits(
            lowestScore: settings[0], lowestConfirmed: settings[1], previousWeight: settings[2], previousDomainWeight: settings[3],
            termWeight: settings[4], sureDomain: settings[5], longHandicap: settings[6],
            passagesHandicap: settings[7])
        (outputs, checksum, encoder) = (content.outputs, content.checksum, content.encoder)
    }

    /// Reads a message: as a whole when it is short, in up to `maximumPassages` that cover it when they suffice, else around the windows that the linear
    /// model found most dangerous. `linearWindows` are the first words of these windows, the most dangerous first.
    func passages(_ words: TokenSequence, linearWindows: [Int]) -> Passages {
        let count = words.tokens.count
        guard count > MessageEncoder.passageLength else { return passages(words, [0..<count], areComplete: true) }
        let (starts, areComplete) = starts(of: count, linearWindows)
        return passages(words, starts.map { $0..<($0 + MessageEncoder.passageLength) }, areComplete: areComplete)
    }

    /// Reads the words in `ranges`.
    func passages(_ words: TokenSequence, _ ranges: [Range<Int>], areComplete: Bool) -> Passages {
        let isLong = ranges.contains { $0.count > MessageEncoder.longMessage }
        let handicap = !isLong ? 0 : ranges.count == 1 ? limits.longHandicap : limits.passagesHandicap
        return Passages(parts: ranges.flatMap { parts(words, $0, handicap: handicap) }, areComplete: areComplete)
    }

    /// The first words of the passages of a message of `count` words, which is longer than one passage, and whether these are all of it.
    private func starts(of count: Int, _ linearWindows: [Int]) -> ([Int], areComplete: Bool) {
        let last = count - MessageEncoder.passageLength
        let further = 1 + (last - 1) / (MessageEncoder.passageLength - MessageEncoder.sharedWords)
        guard further >= MessageEncoder.maximumPassages else { return ((0...further).map { $0 * last / further }, true) }
        var starts: [Int] = []
        for window in linearWindows where starts.count < MessageEncoder.maximumPassages {
            let start = max(0, min(window - MessageEncoder.wordsBefore, last))
            let isCovered = starts.contains { abs($0 - start) < MessageEncoder.passageLength - MessageEncoder.wordsBefore }
            if !isCovered { starts.append(start) }
        }
        return (starts, false)
    }

    /// Reads the words of `range`, in several parts when they have more pieces than the encoder has positions. A part has at least one word. `handicap`:
    /// subtracted from the scores for a crisis.
    private func parts(_ words: TokenSequence, _ range: Range<Int>, handicap: Float) -> [Passage] {
        var parts: [Passage] = []
        var rest = encoder.spelling(Array(words.words(range)))[...]
        repeat {
            let first = range.upperBound - rest.count
            let encoded = encoder.encode(rest, windowed: CrisisClassifier.outputNames.count, located: MessageEncoder.crisis)
            let peak = (first + encoded.peak.lowerBound)..<(first + encoded.peak.upperBound)
            var scores = encoded.scores
            scores[MessageEncoder.crisis] -= handicap
            parts.append(Passage(scores: scores, peak: peak))
            rest = rest.dropFirst(encoded.words)
        } while !rest.isEmpty
        return parts
    }
}

extension TokenSequence {
    /// The folded words in a range, as UTF-8.
    func words(_ range: Range<Int>) -> some Sequence<ArraySlice<UInt8>> { tokens[range].lazy.map { bytes[$0.bytes] } }
}
