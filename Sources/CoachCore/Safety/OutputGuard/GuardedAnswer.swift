/// The guard of one answer. Takes the model's text in pieces and returns what may be released; a forbidden sentence is replaced from its
/// first held word on. Where a sentence is cut off does not depend on how the text comes in pieces.
///
/// Runs for every token: ordinary text passes uncopied.
public struct GuardedAnswer: Sendable {
    /// What to release after a piece.
    public enum Release: Equatable {
        /// The whole piece.
        case piece
        /// `output`, which may be empty.
        case output
    }

    private let rules: OutputGuard
    private let language: String?
    /// At tier 2 and above: text is released by whole sentences.
    private let holdsSentences: Bool

    /// The text to release instead of the piece. Valid until the next call.
    public private(set) var output: [UInt8] = []
    /// The kinds of the sentences that were replaced, in order.
    public private(set) var replaced: [OutputRules.Kind] = []
    /// Bytes of the model that were not released.
    public private(set) var withheldBytes = 0

    /// Bytes that were taken and not released.
    private var held: [UInt8] = []
    /// Offsets in the model's text.
    private var position = 0
    private var released = 0

    private var scan = AnswerScan()
    /// The rest of a sentence is dropped.
    private var isDropping = false
    /// The rest of the answer is dropped: the model repeats its instructions.
    private var dropsAll = false

    /// A longer sentence is released in parts.
    private static let longestHeldSentence = 600

    /// - Parameters:
    ///   - language: ISO 639-1, of the replacements.
    ///   - holdsSentences: whether text is released by whole sentences.
    public init(_ rules: OutputGuard, language: String?, holdsSentences: Bool) {
        self.rules = rules
        self.language = language
        self.holdsSentences = holdsSentences
    }

    /// Bytes that wait for a decision.
    public var heldBytes: Int { held.count }

    /// Takes the next piece of the model's text.
    public mutating func take(_ piece: UnsafeBufferPointer<UInt8>) -> Release {
        let base = position
        // Up to where the piece is in `held` or dropped.
        var copied = 0
        var index = 0
        if !output.isEmpty { output.removeAll(keepingCapacity: true) }
        while index < piece.count {
            if isDropping {
                index = skip(piece, from: index)
                withheldBytes += index - copied
                copied = index
                position = base + index
                if !isDropping { released = position }
                continue
            }
            let (end, match) = scan.walk(piece, from: index, base: base, rules)
            index = end
            position = base + index
            guard let match else { break }
            held.append(contentsOf: piece[copied..<index])
            copied = index
            replace(match)
        }
        if isDropping { return .output }
        let end = boundary
        if copied == 0, held.isEmpty, output.isEmpty, end == position {
            released = position
            return .piece
        }
        held.append(contentsOf: piece[copied...])
        release(upTo: end)
        return .output
    }

    /// Ends the text; the rest is in `output`.
    public mutating func finish() {
        output.removeAll(keepingCapacity: true)
        guard !isDropping else { return }
        if let match = scan.finish(at: position, rules) { replace(match) }
        guard !isDropping else { return }
        release(upTo: position)
    }

    /// Whether text waits that `releaseHeld` would release. Sentences of an answer that is held by sentences do not.
    public var isWaiting: Bool { !held.isEmpty && !holdsSentences && released < undecidedNumber }

    /// Releases what waits to be decided, into `output`, but no digits of a number that may be one to call. A match that it began still drops what
    /// follows.
    public mutating func releaseHeld() {
        output.removeAll(keepingCapacity: true)
        if isWaiting { release(upTo: undecidedNumber) }
    }

    /// Where such a number begins, else the end of the text.
    private var undecidedNumber: Int { min(scan.numberFrom ?? position, position) }

    /// Forgets the text so far, of which nothing was released: another provider answers anew.
    public mutating func restart() { self = GuardedAnswer(rules, language: language, holdsSentences: holdsSentences) }

    /// The offset up to which text can be released.
    private var boundary: Int {
        let end = min(scan.heldFrom(rules) ?? position, position)
        guard holdsSentences, position - scan.sentenceStart <= GuardedAnswer.longestHeldSentence else { return max(end, released) }
        return max(min(end, scan.sentenceStart), released)
    }

    private mutating func release(upTo end: Int) {
        let count = end - released
        guard count > 0 else { return }
        output.append(contentsOf: held.prefix(count))
        held.removeFirst(count)
        released = end
    }

    /// Drops what is held from the match on and appends the safe sentence, once for each kind.
    private mutating func replace(_ match: AnswerScan.Match) {
        release(upTo: max(released, holdsSentences ? min(match.start, scan.sentenceStart) : match.start))
        withheldBytes += held.count
        held.removeAll(keepingCapacity: true)
        if released > scan.sentenceStart { output.append(contentsOf: "… ".utf8) }
        if !replaced.contains(match.kind) { output.append(contentsOf: rules.replacement(match.kind, language: language).utf8) }
        replaced.append(match.kind)
        released = position
        isDropping = true
        dropsAll = match.kind == .instructions
    }

    /// Drops bytes up to the end of the sentence; returns the index after them.
    private mutating func skip(_ piece: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        guard !dropsAll else { return piece.count }
        for index in start..<piece.count where scan.endsSentence(piece[index], rules) {
            isDropping = false
            scan.reset(at: position + index - start + 1)
            return index
        }
        return piece.count
    }
}
