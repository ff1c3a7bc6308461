/// The guard of one answer. Takes the model's text in pieces and returns the text to release. Replaces a forbidden sentence from its first held
/// word on. The result does not depend on how the text is split into pieces.
///
/// Runs for every token, so it does not copy ordinary text.
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

    /// Text that was taken and is not released yet. While a sentence is dropped: what may belong to the next one.
    private var held: [UInt8] = []
    /// Offset in the model's text after the last byte that was taken.
    private var position = 0
    /// Offset in the model's text up to which text was released or dropped.
    private var released = 0

    private var scan = AnswerScan()
    /// True while the rest of a sentence is dropped.
    private var isDropping = false
    /// That rest.
    private var dropped = DroppedSentence(MultibyteCharacter(), afterTerminator: false, afterAbbreviation: false)
    /// True while the rest of the answer is dropped, because the model repeats its instructions.
    private var dropsAll = false

    /// Longest sentence that is held as a whole, in bytes.
    private static let longestHeldSentence = 600

    /// - Parameters:
    ///   - language: ISO 639-1, of the user's device. Replacements of sentences in a language that is not known are in it.
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
        // The index up to which the piece was copied to `held` or dropped.
        var copied = 0
        var index = 0
        if !output.isEmpty { output.removeAll(keepingCapacity: true) }
        while index < piece.count {
            if isDropping {
                index = skip(piece, from: index)
                copied = index
                position = base + index
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

    /// Whether `releaseHeld` would release text. It releases nothing of an answer that is released by whole sentences.
    public var isWaiting: Bool { !held.isEmpty && !holdsSentences && !isDropping && released < undecided }

    /// Releases held text into `output`, up to a number that may be a phone number, or a part of a character. When the text is the start of a
    /// forbidden sentence, the rest of the sentence is still replaced.
    public mutating func releaseHeld() {
        output.removeAll(keepingCapacity: true)
        if isWaiting { release(upTo: undecided) }
    }

    /// The offset of a number that may be a phone number, or of a part of a character, else the end of the text.
    private var undecided: Int { min(scan.undecidedFrom, position) }

    /// Forgets the text so far. Call when nothing was released and another provider answers from the start.
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

    /// Drops the held text from the match on. Appends the replacement, once for each kind.
    private mutating func replace(_ match: AnswerScan.Match) {
        release(upTo: max(released, holdsSentences ? min(match.start, scan.sentenceStart) : match.start))
        // The first bytes of an unread character wait for the dropped sentence to read its last one.
        withhold(held.count - (position - (scan.incompleteFrom ?? position)))
        if released > scan.sentenceStart { output.append(contentsOf: "… ".utf8) }
        let kind = match.finding.kind
        if !replaced.contains(kind) { output.append(contentsOf: rules.replacement(match.finding, language: language).utf8) }
        replaced.append(kind)
        dropped = scan.restOfSentence
        isDropping = true
        dropsAll = kind == .instructions
    }

    /// Drops bytes up to the next sentence; returns the index of its first unread byte. Bytes before it that belong to it are held.
    private mutating func skip(_ piece: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        guard !dropsAll else {
            withheldBytes += piece.count - start
            return piece.count
        }
        for index in start..<piece.count {
            switch dropped.take(piece[index], at: position + index - start, rules) {
            case .goesOn:
                withhold(held.count)
                withheldBytes += 1
            case .mayBeOver: held.append(piece[index])
            case .isOver(let next):
                isDropping = false
                released = position + index - start - held.count
                // No white space follows "。": the replacement and the next sentence are separated here.
                let isNewline = rules.table.classes[Int(piece[index])] == WordTable.Class.newline
                if next == released, !isNewline { output.append(UInt8(ascii: " ")) }
                scan.resume(at: next, after: dropped)
                return index
            }
        }
        return piece.count
    }

    private mutating func withhold(_ count: Int) {
        guard count > 0 else { return }
        withheldBytes += count
        held.removeFirst(count)
    }
}
