/// A folded word of a message.
struct Token: Equatable {
    /// FNV-1a of the folded word's bytes.
    var hash: UInt64
    /// UTF-8 of the folded word, as indices of `TokenSequence.bytes`.
    var bytes: Range<Int>
    /// Number of its sentence, from 0.
    var sentence: Int
    /// Number of its clause, from 0; never repeats in another sentence.
    var clause: Int
    /// True when a letter was repeated three times or more: "diiie".
    var isElongated: Bool
}

/// A message split into folded words, sentences and clauses.
struct TokenSequence {
    private(set) var bytes: [UInt8] = []
    private(set) var tokens: [Token] = []

    /// Splits folded scalars. Removes apostrophes inside words ("don't" and "dont" are the same word) and shortens a letter repeated three
    /// times or more to two.
    init(_ units: [UInt32]) {
        bytes.reserveCapacity(units.count)
        tokens.reserveCapacity(units.count / 4)
        var sentence = 0
        var clause = 0
        var index = 0
        while index < units.count {
            let unit = units[index]
            if TokenSequence.isWord(unit) {
                index = appendWord(units, from: index, sentence: sentence, clause: clause)
                continue
            }
            switch unit {
            case UInt32(UInt8(ascii: ".")):
                let next = index + 1 < units.count ? units[index + 1] : ScalarFolding.space
                if next == unit {
                    clause += 1
                    while index + 1 < units.count, units[index + 1] == unit { index += 1 }
                } else if !TokenSequence.isWord(next) {
                    sentence += 1
                    clause += 1
                }
            case UInt32(UInt8(ascii: "!")), UInt32(UInt8(ascii: "?")), UInt32(UInt8(ascii: ";")), 0x0A:
                sentence += 1
                clause += 1
            case UInt32(UInt8(ascii: ",")), UInt32(UInt8(ascii: ":")), UInt32(UInt8(ascii: "(")), UInt32(UInt8(ascii: ")")), 0x22,
                ScalarFolding.ellipsis:
                clause += 1
            case UInt32(UInt8(ascii: "-")):
                let after = index + 1 < units.count ? units[index + 1] : ScalarFolding.space
                if !TokenSequence.isWord(after) { clause += 1 }
            default: break
            }
            index += 1
        }
    }

    /// The words of a text of the product, folded like a message. `:pill:` is the emoji of that name.
    init(phrase: String) {
        if phrase.hasPrefix(":"), phrase.hasSuffix(":"), phrase.count > 2 {
            self.init([ScalarFolding.emojiMark] + NormalisedMessage.fold(String(phrase.dropFirst().dropLast())))
        } else {
            self.init(NormalisedMessage.fold(phrase))
        }
    }

    /// The hashes of the words.
    var hashes: [UInt64] { tokens.map(\.hash) }

    /// The same message with some of its words only.
    func with(tokens: [Token]) -> TokenSequence {
        var result = self
        result.tokens = tokens
        return result
    }

    /// The words in the sentences of the words in `range`, at most `reach` words before and after the range. `range` is not empty.
    func sentences(around range: Range<Int>, reach: Int) -> Range<Int> {
        let (first, last) = (tokens[range.lowerBound].sentence, tokens[range.upperBound - 1].sentence)
        let before = tokens[..<range.lowerBound].suffix(reach).drop { $0.sentence < first }
        let after = tokens[range.upperBound...].prefix(reach).prefix { $0.sentence == last }
        return before.startIndex..<after.endIndex
    }

    static func isWord(_ unit: UInt32) -> Bool {
        (0x61...0x7A).contains(unit) || (0x30...0x39).contains(unit) || (unit >= 0x80 && unit != ScalarFolding.ellipsis)
    }

    private mutating func appendWord(_ units: [UInt32], from first: Int, sentence: Int, clause: Int) -> Int {
        let start = bytes.count
        var hash = WordHash()
        var isElongated = false
        var index = first
        var last: UInt32 = 0
        var run = 0
        while index < units.count {
            let unit = units[index]
            if unit == 0x27, index + 1 < units.count, TokenSequence.isWord(units[index + 1]) {
                index += 1
                continue
            }
            guard TokenSequence.isWord(unit), unit != ScalarFolding.emojiMark || index == first else { break }
            run = unit == last ? run + 1 : 1
            last = unit
            index += 1
            if run > 2, unit > 0x39 {
                isElongated = true
                continue
            }
            append(unit, to: &hash)
        }
        tokens.append(
            Token(hash: hash.value, bytes: start..<bytes.count, sentence: sentence, clause: clause, isElongated: isElongated))
        return index
    }

    private mutating func append(_ unit: UInt32, to hash: inout WordHash) {
        if unit < 0x80 {
            let byte = UInt8(truncatingIfNeeded: unit)
            bytes.append(byte)
            hash.add(byte)
        } else if let scalar = Unicode.Scalar(unit) {
            for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                bytes.append(byte)
                hash.add(byte)
            }
        }
    }
}

/// FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/. A collision with one of the some ten thousand known words can be constructed. It is
/// acceptable, because it changes only the assessment of its author's message.
struct WordHash {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    init() {}

    init(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { add(byte) }
    }

    mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
}
