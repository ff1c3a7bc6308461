/// A word of a message.
struct Token: Equatable {
    /// FNV-1a of the folded word's bytes.
    var hash: UInt64
    /// Where the folded word lies in `TokenSequence.bytes`.
    var bytes: Range<Int>
    /// Counts sentences from 0.
    var sentence: Int
    /// Counts clauses from 0 through the whole message.
    var clause: Int
    /// A letter was repeated three times or more.
    var stretched: Bool
}

/// A message as words: the input of crisis detection and of routing alike.
struct TokenSequence {
    private(set) var bytes: [UInt8] = []
    private(set) var tokens: [Token] = []

    /// Splits folded units. Apostrophes inside a word vanish ("don't" and "dont" are one word); a letter repeated three times or
    /// more is kept twice.
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

    /// The folded word as text, for tests and findings; not for the hot path.
    func word(_ token: Token) -> String { String(decoding: bytes[token.bytes], as: UTF8.self) }

    static func isWord(_ unit: UInt32) -> Bool {
        (0x61...0x7A).contains(unit) || (0x30...0x39).contains(unit) || (unit >= 0x80 && unit != ScalarFolding.ellipsis)
    }

    private mutating func appendWord(_ units: [UInt32], from first: Int, sentence: Int, clause: Int) -> Int {
        let start = bytes.count
        var hash = WordHash()
        var stretched = false
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
                stretched = true
                continue
            }
            append(unit, to: &hash)
        }
        tokens.append(
            Token(hash: hash.value, bytes: start..<bytes.count, sentence: sentence, clause: clause, stretched: stretched))
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

/// FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/. A collision with one of a few thousand known words needs intent, and
/// gains its author a false positive.
struct WordHash {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }

    static func of(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var hash = WordHash()
        for byte in bytes { hash.add(byte) }
        return hash.value
    }
}
