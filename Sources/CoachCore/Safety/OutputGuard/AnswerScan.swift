/// Reads an answer byte by byte: words, numbers and sentences, and the rules that they match. One table look-up per byte of an ordinary
/// word. Offsets are those of the model's text.
struct AnswerScan: Sendable {
    /// A rule that matched.
    struct Match {
        var kind: OutputRules.Kind
        /// Where the text that must not be released starts.
        var start: Int
    }

    /// Words after "call" within which a short number is a short code.
    private static let callingDistance = 6

    private(set) var sentenceStart = 0
    private var node = WordTable.root
    private var wordStart = 0
    private var words = WordAutomaton.State()
    private var matchStart = 0
    private var number = NumberScanner()
    /// A short code was read, and the next word decides.
    private var awaitsWord = false
    /// The next word was one that follows a short code, and a number after it decides: "250 to 300" is a range.
    private var awaitsRange = false
    /// Where the number before that one is held from.
    private var rangeFrom: Int?
    private var isFirstWord = true
    private var isReported = false
    /// The words since "if", up to a comma, state nothing.
    private var isCondition = false
    /// The word before is a negation.
    private var isNegated = false
    /// How many further words are near the last word such as "call".
    private var callingWords = 0
    private var afterTerminator = false
    /// Bytes of an unfinished character, big-endian, and how many are missing.
    private var character: UInt32 = 0
    private var missing = 0
    private var characterStart = 0
    private var previousByte: UInt8 = 0

    private var call: NumberScanner.CallProximity {
        callingWords == 0 ? .none : callingWords == AnswerScan.callingDistance ? .adjacent : .near
    }

    private var context: WordAutomaton.Context {
        WordAutomaton.Context(isFirst: isFirstWord, isReported: isReported || isCondition || isNegated)
    }

    /// Reads on until a rule matches, or to the end. The byte at the returned index is unread.
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
        switch kind {
        case WordTable.Class.multibyte:
            if byte >= 0xC0 {
                character = UInt32(byte)
                missing = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : 1
                characterStart = offset
            } else {
                character = character << 8 | UInt32(byte)
                missing -= 1
            }
            guard missing == 0 else { return nil }
            // A match in the middle of a character leaves its last byte to the dropped text.
            return read(WordTable.classOf(character: character), byte: ascii, from: characterStart, rules)
        default: return read(kind, byte: byte, from: offset, rules)
        }
    }

    /// Bytes of `character`.
    private var characterWidth: Int { character > 0xFF_FFFF ? 4 : character > 0xFFFF ? 3 : 2 }

    /// The ASCII form of a character in a number: digits, hyphens and spaces of other widths and scripts. 0 for others.
    private var ascii: UInt8 {
        switch character {
        case 0xE28090...0xE28095, 0xEFBC8D: UInt8(ascii: "-")
        case 0xC2A0, 0xE28080...0xE2808A, 0xE280AF: UInt8(ascii: " ")
        default: WordTable.digit(WordTable.scalar(of: character)).map { UInt8(ascii: "0") + $0 } ?? 0
        }
    }

    private mutating func read(_ kind: UInt8, byte: UInt8, from offset: Int, _ rules: OutputGuard) -> Match? {
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
        // Behind letters it is part of an identifier.
        if node != WordTable.root, node != WordTable.number {
            node = WordTable.unknown
            return nil
        }
        if node == WordTable.root {
            node = WordTable.number
            wordStart = offset
        }
        afterTerminator = false
        if awaitsWord || number.isSpelled {
            awaitsWord = false
            awaitsRange = false
            number = NumberScanner()
        }
        number.take(digit: byte - 0x30, at: offset, after: previousByte, call)
        return nil
    }

    private mutating func separator(_ kind: UInt8, _ byte: UInt8, at offset: Int, _ rules: OutputGuard) -> Match? {
        let wasNumber = node == WordTable.number
        if node != WordTable.root, let match = endWord(at: offset, rules) { return match }
        if number.isActive, !number.isSpelled, !awaitsWord {
            if wasNumber || number.isVanity, byte != UInt8(ascii: "-"), number.isListed(rules.numbers) {
                // "877 or 988" is no range.
                if rangeFrom != nil { return phone(from: offset) }
                number = NumberScanner(after: number)
            }
            if number.isActive, !number.take(separator: byte), let match = endNumber(at: offset, rules) { return match }
        }
        // "No, you should": a comma ends what is negated, an apostrophe and white space do not.
        if kind != WordTable.Class.space, byte != UInt8(ascii: "'"), byte != 0 { isNegated = false }
        if byte == UInt8(ascii: ",") || byte == UInt8(ascii: ";") || byte == UInt8(ascii: ":") { isCondition = false }
        switch kind {
        case WordTable.Class.terminator:
            if let kind = rules.automaton.endSentence(words) { return Match(kind: kind, start: matchStart) }
            afterTerminator = true
        case WordTable.Class.newline: return endSentence(at: offset, width: byte == 0 ? characterWidth : 1, rules)
        case WordTable.Class.space:
            if afterTerminator { return endSentence(at: offset, rules) }
        case WordTable.Class.quote: isReported = true
        default: break
        }
        return nil
    }

    /// The word before `offset` is complete.
    private mutating func endWord(at offset: Int, _ rules: OutputGuard) -> Match? {
        guard node != WordTable.root else { return nil }
        let known = rules.table.wordAt[Int(node)]
        let word = node == WordTable.number ? rules.automaton.number : known >= 0 ? Int(known) : rules.automaton.unknownWord
        node = WordTable.root
        let role = rules.role(word)
        if awaitsWord, word != rules.automaton.number {
            let mayContinue = role.contains(.links) && number.mayBeginRange && rangeFrom == nil
            if awaitsRange || (role.contains(.followsNumber) && !mayContinue) { return phone(from: wordStart) }
            awaitsRange = mayContinue
            awaitsWord = mayContinue
            if mayContinue { rangeFrom = number.heldFrom } else { endRange() }
        }
        if word != rules.automaton.number {
            if let digit = rules.digit(word), !number.isActive || number.isSpelled {
                number.take(word: digit, at: wordStart, call)
            } else if number.isActive, number.isSpelled, let match = endNumber(at: wordStart, rules) {
                return match
            }
        }
        let wasHeld = words.isHeld
        let match = rules.automaton.take(word, context, &words)
        if words.isHeld, !wasHeld { matchStart = wordStart }
        if let match { return Match(kind: match, start: matchStart) }
        callingWords = role.contains(.calls) ? AnswerScan.callingDistance : max(callingWords - 1, 0)
        if role.contains(.reports) || (isFirstWord && role.contains(.asks)) { isReported = true }
        if role.contains(.conditions) { isCondition = true }
        isFirstWord = false
        isNegated = role.contains(.negates)
        return nil
    }

    /// The number before `offset` is complete.
    private mutating func endNumber(at offset: Int, _ rules: OutputGuard) -> Match? {
        switch number.verdict(rules.numbers) {
        case .allowed where rangeFrom != nil && number.isListed(rules.numbers): return phone(from: offset)
        case .allowed: endRange()
        case .forbidden: return phone(from: offset)
        case .dependsOnNextWord: awaitsWord = true
        }
        return nil
    }

    /// A number, or the range that it ends, is none to call.
    private mutating func endRange() {
        number = NumberScanner()
        rangeFrom = nil
    }

    /// The match of a phone number, which ends before `offset`.
    private func phone(from offset: Int) -> Match { Match(kind: .phone, start: rangeFrom ?? number.heldFrom ?? offset) }

    /// The sentence ends with the byte at `offset`.
    /// `width`: bytes of the character that ends it.
    private mutating func endSentence(at offset: Int, width: Int = 1, _ rules: OutputGuard) -> Match? {
        if number.isActive {
            if awaitsWord { return phone(from: offset) }
            if let match = endNumber(at: offset, rules) { return match }
            if awaitsWord { return phone(from: offset) }
        }
        if let kind = rules.automaton.endSentence(words) { return Match(kind: kind, start: matchStart) }
        reset(at: offset + width)
        return nil
    }

    /// The text is over.
    mutating func finish(at offset: Int, _ rules: OutputGuard) -> Match? {
        endWord(at: offset, rules) ?? endSentence(at: offset, rules)
    }

    /// A sentence starts at `offset`.
    mutating func reset(at offset: Int) {
        sentenceStart = offset
        node = WordTable.root
        words.reset()
        number = NumberScanner()
        awaitsWord = false
        awaitsRange = false
        rangeFrom = nil
        isFirstWord = true
        isReported = false
        isCondition = false
        isNegated = false
        callingWords = 0
        afterTerminator = false
    }

    /// Whether a dropped sentence ends before this byte.
    mutating func endsSentence(_ byte: UInt8, _ rules: OutputGuard) -> Bool {
        switch rules.table.classes[Int(byte)] {
        case WordTable.Class.newline: return true
        case WordTable.Class.space where afterTerminator: return true
        case WordTable.Class.terminator: afterTerminator = true
        // A closing quotation mark or parenthesis may stand between.
        case WordTable.Class.quote, WordTable.Class.separator, WordTable.Class.ignored: break
        default: afterTerminator = false
        }
        return false
    }

    /// The offset from which digits wait for the end of their number or range; nil when none do.
    var numberFrom: Int? { rangeFrom ?? number.heldFrom }

    /// The offset from which text must wait; nil when nothing waits.
    func heldFrom(_ rules: OutputGuard) -> Int? {
        var start = words.isHeld ? matchStart : Int.max
        if let from = numberFrom { start = min(start, from) }
        if missing > 0 { start = min(start, characterStart) }
        if node == WordTable.number {
            let word = rules.automaton.number
            if rules.automaton.mayHold(word..<(word + 1), context, words) { start = min(start, wordStart) }
        } else if node > WordTable.number {
            let below = rules.table.below[Int(node)]
            let mayBeDigit = call != .none && below.contains { rules.digit($0) != nil }
            if mayBeDigit || rules.automaton.mayHold(below, context, words) { start = min(start, wordStart) }
        }
        return start == .max ? nil : start
    }
}
