/// Reads the rest of a sentence that matched a rule and finds where the next sentence starts. An end that is found too early releases the rest of
/// a forbidden sentence, so a full stop ends it only when neither the word before nor the text after it shows that the sentence goes on.
struct DroppedSentence: Sendable {
    /// What a byte means for the text around it.
    enum Step: Equatable {
        /// The byte, and the bytes that wait, belong to the dropped sentence.
        case goesOn
        /// The byte waits: it belongs to the next sentence if that starts after it.
        case mayBeOver
        /// The next sentence starts at this offset, except for the white space that waits. The byte is unread.
        case isOver(next: Int)
    }

    private enum Position {
        case inside
        /// After the full stop of an abbreviation.
        case afterAbbreviation
        /// After a mark that ends the sentence when white space follows.
        case afterTerminator
        /// After such a mark and white space. A small letter or a digit goes on: "approx. 5".
        case afterSpace
        /// After a mark that ends the sentence whatever follows: "。".
        case ended

        var mayBeOver: Bool { self == .afterTerminator || self == .afterSpace || self == .ended }
    }

    private(set) var character: MultibyteCharacter
    private var position: Position
    private var node = WordTable.root
    private var wordStart = 0
    /// Whether one letter is an abbreviation: a small one, or one after a full stop ("z. B.", "U.S.", "Dr. J. Doe").
    private var mayAbbreviateAlone = false
    private var endsAbbreviation: Bool

    /// - Parameters:
    ///   - character: The bytes before the rest of the sentence that are part of its first character.
    ///   - afterTerminator: Whether the text before ends with a full stop.
    ///   - afterAbbreviation: Whether the text before ends with an abbreviation, without its full stop.
    init(_ character: MultibyteCharacter, afterTerminator: Bool, afterAbbreviation: Bool) {
        self.character = character
        position = afterTerminator ? .afterTerminator : .inside
        endsAbbreviation = afterAbbreviation
    }

    mutating func take(_ byte: UInt8, at offset: Int, _ rules: OutputGuard) -> Step {
        let kind = rules.table.classes[Int(byte)]
        guard kind == WordTable.Class.multibyte else {
            return take(kind, byte, at: offset, isLowercase: byte >= UInt8(ascii: "a"), rules)
        }
        guard character.take(byte, at: offset) else { return position.mayBeOver ? .mayBeOver : .goesOn }
        let whole = WordTable.classOf(character: character.bytes)
        let step = take(whole, character.ascii, at: character.start, isLowercase: character.isLowercase, rules)
        if case .isOver = step { character.giveBack() }
        return step
    }

    /// Takes a character. `byte` is its ASCII form, 0 for none.
    private mutating func take(_ kind: UInt8, _ byte: UInt8, at offset: Int, isLowercase: Bool, _ rules: OutputGuard) -> Step {
        switch kind {
        case WordTable.Class.newline where byte != 0: return .isOver(next: offset)
        case WordTable.Class.newline: position = .ended
        case WordTable.Class.space:
            endWord(at: offset, rules)
            if position == .afterTerminator { position = .afterSpace }
            return position.mayBeOver ? .mayBeOver : .goesOn
        case _ where position == .ended: return .isOver(next: offset)
        case WordTable.Class.terminator:
            endWord(at: offset, rules)
            position = byte == UInt8(ascii: ".") && endsAbbreviation ? .afterAbbreviation : .afterTerminator
            endsAbbreviation = false
        case WordTable.Class.quote, WordTable.Class.separator, WordTable.Class.ignored:
            if position == .afterSpace { return .isOver(next: offset) }
            takeSeparator(kind, byte, at: offset, rules)
        default:
            let isDigit = kind == WordTable.Class.digit
            if position == .afterSpace, !isLowercase, !isDigit { return .isOver(next: offset) }
            if node == WordTable.root {
                wordStart = offset
                mayAbbreviateAlone = !isDigit && (isLowercase || position == .afterAbbreviation || position == .afterTerminator)
            }
            let isKnown = kind < WordTable.Class.digit && node != WordTable.unknown
            node = isKnown ? rules.table.next[WordTable.edge(node, kind)] : WordTable.unknown
            position = .inside
        }
        return .goesOn
    }

    /// A closing quotation mark or parenthesis may be between the full stop and the space.
    private mutating func takeSeparator(_ kind: UInt8, _ byte: UInt8, at offset: Int, _ rules: OutputGuard) {
        switch byte {
        case _ where kind == WordTable.Class.ignored: break
        // The "t" of "can't" is no abbreviation.
        case UInt8(ascii: "'"):
            node = WordTable.unknown
            mayAbbreviateAlone = false
        // "etc., and" goes on.
        case UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: ":"):
            endWord(at: offset, rules)
            position = .inside
        default: endWord(at: offset, rules)
        }
    }

    /// The word before `offset` is complete.
    private mutating func endWord(at offset: Int, _ rules: OutputGuard) {
        guard node != WordTable.root else { return }
        let word = rules.table.wordAt[Int(node)]
        let isAlone = mayAbbreviateAlone && offset - wordStart == 1
        endsAbbreviation = isAlone || (word >= 0 && rules.role(Int(word)).contains(.abbreviates))
        node = WordTable.root
    }
}
