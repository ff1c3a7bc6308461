/// Reads an answer byte by byte: words, numbers and sentences, and the rules that they match. One table look-up per byte of an ordinary
/// word. Offsets are those of the model's text.
struct AnswerScan: Sendable {
    /// A rule that matched.
    struct Match {
        var finding: OutputRules.Finding
        /// Where the text that must not be released starts.
        var start: Int
    }

    /// Words after "call" within which a short number is a short code.
    private static let callingDistance = 6

    /// What decides about a number that may be a short code.
    private enum Awaited {
        case nothing
        /// The next word: "text 12345 now".
        case nextWord
        /// A number after a word such as "to": "250 to 300" is a range.
        case endOfRange
    }

    private(set) var sentenceStart = 0
    private var node = WordTable.root
    private var wordStart = 0
    private var words = WordAutomaton.State()
    private var matchStart = 0
    private var number = NumberScanner()
    private var awaited = Awaited.nothing
    /// While the number may end a range: the offset from which the first number of the range is held.
    private var rangeFrom: Int?
    private var sentence = SentenceContext()
    /// How many further words are near the last word such as "call".
    private var callingWords = 0
    private var afterTerminator = false
    /// The word before is an abbreviation.
    private var afterAbbreviation = false
    private var character = MultibyteCharacter()
    private var previousByte: UInt8 = 0

    private var call: NumberScanner.CallProximity {
        callingWords == 0 ? .none : callingWords == AnswerScan.callingDistance ? .adjacent : .near
    }

    /// Reads the piece from index `start` on until a rule matches, or to its end. `base` is the offset of the piece. The byte at the returned
    /// index is unread.
    mutating func walk(
        _ piece: UnsafeBufferPointer<UInt8>, from start: Int, base: Int, _ rules: OutputGuard
    ) -> (end: Int, match: Match?) {
        let table = rules.table
        var index = start
        while index < piece.count {
            let byte = piece[index]
            let kind = table.classes[Int(byte)]
            // The whole cost of most bytes: a number ends before the first letter after it.
            if kind < WordTable.Class.digit, node != WordTable.root, node != WordTable.number {
                if node != WordTable.unknown { node = table.next[WordTable.edge(node, kind)] }
                previousByte = byte
                index += 1
                continue
            }
            if let match = read(byte, kind, at: base + index, rules) { return (index, match) }
            previousByte = byte
            index += 1
        }
        return (index, nil)
    }

    /// Reads one byte. With a match the byte is unread.
    private mutating func read(_ byte: UInt8, _ kind: UInt8, at offset: Int, _ rules: OutputGuard) -> Match? {
        guard kind == WordTable.Class.multibyte else { return readCharacter(kind, byte, at: offset, rules) }
        guard character.take(byte, at: offset) else { return nil }
        let match = readCharacter(WordTable.classOf(character: character.bytes), character.ascii, at: character.start, rules)
        if match != nil { character.giveBack() }
        return match
    }

    /// Reads one character. `byte` is its ASCII form, 0 for none.
    private mutating func readCharacter(_ kind: UInt8, _ byte: UInt8, at offset: Int, _ rules: OutputGuard) -> Match? {
        switch kind {
        case WordTable.Class.ignored: return nil
        case WordTable.Class.digit: return digit(byte, at: offset, rules)
        case WordTable.Class.separator, WordTable.Class.space, WordTable.Class.quote, WordTable.Class.terminator, WordTable.Class.newline:
            return separator(kind, byte, at: offset, rules)
        default: return letter(kind, byte, at: offset, rules)
        }
    }

    private mutating func letter(_ kind: UInt8, _ byte: UInt8, at offset: Int, _ rules: OutputGuard) -> Match? {
        if node == WordTable.number {
            if let match = endWord(at: offset, rules) { return match }
        }
        if number.isActive, !number.isSpelled {
            if number.take(letter: byte, at: offset) { return nil }
            if let match = endNumber(at: offset, rules) { return match }
        }
        if node == WordTable.root {
            wordStart = offset
            afterTerminator = false
        }
        node = kind > WordTable.Class.digit || node == WordTable.unknown ? WordTable.unknown : rules.table.next[WordTable.edge(node, kind)]
        return nil
    }

    private mutating func digit(_ byte: UInt8, at offset: Int, _ rules: OutputGuard) -> Match? {
        // A digit after letters is part of an identifier.
        if node != WordTable.root, node != WordTable.number {
            node = WordTable.unknown
            return nil
        }
        if node == WordTable.root {
            node = WordTable.number
            wordStart = offset
        }
        afterTerminator = false
        if awaited != .nothing || number.isSpelled {
            awaited = .nothing
            number = NumberScanner()
        }
        number.take(digit: byte - 0x30, at: offset, after: previousByte, call)
        return nil
    }

    private mutating func separator(_ kind: UInt8, _ byte: UInt8, at offset: Int, _ rules: OutputGuard) -> Match? {
        let wasNumber = node == WordTable.number
        if node != WordTable.root, let match = endWord(at: offset, rules) { return match }
        if number.isActive, !number.isSpelled, awaited == .nothing {
            if wasNumber || number.isVanity, byte != UInt8(ascii: "-"), number.isListed(rules.numbers) {
                // "877 or 988" is no range.
                if rangeFrom != nil { return phone(from: offset) }
                number = NumberScanner(after: number)
            }
            if number.isActive, !number.take(separator: byte), let match = endNumber(at: offset, rules) { return match }
        }
        let endsClause = kind == WordTable.Class.separator && endsClause(byte, at: offset)
        sentence.take(separator: kind, byte, endsClause: endsClause)
        switch kind {
        case WordTable.Class.separator where endsClause:
            if let finding = rules.automaton.endClause(words) { return Match(finding: finding, start: matchStart) }
        case WordTable.Class.terminator:
            if let finding = rules.automaton.endSentence(words) { return Match(finding: finding, start: matchStart) }
            afterTerminator = true
        case WordTable.Class.newline: return endSentence(at: offset, width: byte == 0 ? character.width : 1, rules)
        case WordTable.Class.space:
            if afterTerminator { return endSentence(at: offset, rules) }
        default: break
        }
        return nil
    }

    /// Whether a separator ends a clause. A dash does, a hyphen within a word does not.
    private func endsClause(_ byte: UInt8, at offset: Int) -> Bool {
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: ":"), UInt8(ascii: "("), UInt8(ascii: ")"): true
        case UInt8(ascii: "-"): previousByte == UInt8(ascii: " ") || (character.start == offset && character.isDash)
        default: false
        }
    }

    /// The word before `offset` is complete.
    private mutating func endWord(at offset: Int, _ rules: OutputGuard) -> Match? {
        guard node != WordTable.root else { return nil }
        let known = rules.table.wordAt[Int(node)]
        let word = node == WordTable.number ? rules.automaton.number : known >= 0 ? Int(known) : rules.automaton.unknownWord
        node = WordTable.root
        let role = rules.role(word)
        afterAbbreviation = role.contains(.abbreviates)
        if awaited != .nothing, word != rules.automaton.number {
            let mayContinue = role.contains(.links) && number.mayBeginRange && rangeFrom == nil
            if awaited == .endOfRange || (role.contains(.followsNumber) && !mayContinue) { return phone(from: wordStart) }
            if mayContinue {
                awaited = .endOfRange
                rangeFrom = number.heldFrom
            } else {
                awaited = .nothing
                endRange()
            }
        }
        if word != rules.automaton.number {
            if let digit = rules.digit(word), !number.isActive || number.isSpelled {
                number.take(word: digit, at: wordStart, call)
            } else if number.isActive, number.isSpelled, let match = endNumber(at: wordStart, rules) {
                return match
            }
        }
        let wasHeld = words.isHeld
        let match = rules.automaton.take(word, sentence, &words)
        if words.isHeld, !wasHeld { matchStart = wordStart }
        if let match { return Match(finding: match, start: matchStart) }
        callingWords = role.contains(.calls) ? AnswerScan.callingDistance : max(callingWords - 1, 0)
        sentence.take(word: role)
        return nil
    }

    /// The number before `offset` is complete.
    private mutating func endNumber(at offset: Int, _ rules: OutputGuard) -> Match? {
        switch number.verdict(rules.numbers) {
        case .allowed where rangeFrom != nil && number.isListed(rules.numbers): return phone(from: offset)
        case .allowed: endRange()
        case .forbidden: return phone(from: offset)
        case .dependsOnNextWord: if awaited == .nothing { awaited = .nextWord }
        }
        return nil
    }

    /// Forgets a number that is neither a phone number nor a short code, and the range that it ends.
    private mutating func endRange() {
        number = NumberScanner()
        rangeFrom = nil
    }

    /// The match of a phone number, which ends before `offset`.
    private func phone(from offset: Int) -> Match {
        Match(finding: OutputRules.Finding(kind: .phone), start: rangeFrom ?? number.heldFrom ?? offset)
    }

    /// The sentence ends with the character at `offset`, which has `width` bytes.
    private mutating func endSentence(at offset: Int, width: Int = 1, _ rules: OutputGuard) -> Match? {
        if number.isActive {
            if awaited != .nothing { return phone(from: offset) }
            if let match = endNumber(at: offset, rules) { return match }
            if awaited != .nothing { return phone(from: offset) }
        }
        if let finding = rules.automaton.endSentence(words) { return Match(finding: finding, start: matchStart) }
        reset(at: offset + width)
        return nil
    }

    /// The text is over.
    mutating func finish(at offset: Int, _ rules: OutputGuard) -> Match? {
        endWord(at: offset, rules) ?? endSentence(at: offset, rules)
    }

    /// Begins a sentence at `offset`.
    mutating func reset(at offset: Int) {
        sentenceStart = offset
        node = WordTable.root
        words.reset()
        number = NumberScanner()
        awaited = .nothing
        rangeFrom = nil
        sentence = SentenceContext()
        callingWords = 0
        afterTerminator = false
        afterAbbreviation = false
    }

    /// The rest of a sentence that matched a rule. Its first byte is the unread one.
    var restOfSentence: DroppedSentence {
        DroppedSentence(character, afterTerminator: afterTerminator, afterAbbreviation: afterAbbreviation)
    }

    /// Begins a sentence after a dropped one.
    mutating func resume(at offset: Int, after sentence: DroppedSentence) {
        reset(at: offset)
        character = sentence.character
    }

    /// The offset from which digits wait for the end of their number or range; nil when none do.
    private var numberFrom: Int? { rangeFrom ?? number.heldFrom }

    /// The offset of the bytes of an incomplete character; nil when the text ends with a whole one.
    var incompleteFrom: Int? { character.isIncomplete ? character.start : nil }

    /// The offset from which text must wait even in a pause of the model; `Int.max` when nothing must.
    var undecidedFrom: Int { min(numberFrom ?? .max, incompleteFrom ?? .max) }

    /// The offset from which text must wait; nil when nothing waits.
    func heldFrom(_ rules: OutputGuard) -> Int? {
        var start = words.isHeld ? matchStart : Int.max
        if let from = numberFrom { start = min(start, from) }
        if let from = incompleteFrom { start = min(start, from) }
        if node == WordTable.number {
            let word = rules.automaton.number
            if rules.automaton.mayHold(word..<(word + 1), sentence, words) { start = min(start, wordStart) }
        } else if node > WordTable.number {
            let below = rules.table.below[Int(node)]
            let mayBeDigit = call != .none && below.contains { rules.digit($0) != nil }
            if mayBeDigit || rules.automaton.mayHold(below, sentence, words) { start = min(start, wordStart) }
        }
        return start == .max ? nil : start
    }
}
