/// The words of the output rules as a table over bytes: one look-up per byte finds the word that ends at the next separator.
struct WordTable {
    /// What a byte is.
    enum Class {
        /// 0 to 25 are the letters.
        static let digit: UInt8 = 26
        static let separator: UInt8 = 27
        /// Ends a sentence when white space follows.
        static let terminator: UInt8 = 28
        static let space: UInt8 = 29
        static let newline: UInt8 = 30
        /// Markdown inside words, U+0000: as if it were not there.
        static let ignored: UInt8 = 31
        static let quote: UInt8 = 32
        /// A byte of a character of two bytes or more.
        static let multibyte: UInt8 = 33
        /// A letter that neither is nor looks like a Latin one: makes its word unknown.
        static let otherLetter: UInt8 = 34
    }

    typealias Node = UInt16
    /// Between two words.
    static let root: Node = 0
    /// In a word that is not in the table.
    static let unknown: Node = 1
    /// In a number.
    static let number: Node = 2
    /// Entries of a node: one for each letter, rounded up to a power of two.
    private static let stride = 32

    /// The class of each byte.
    let classes: [UInt8]
    /// The next node, by node, then by letter.
    private(set) var next: [Node]
    /// For each node the word that ends there, as index of `words`; -1 for none.
    private(set) var wordAt: [Int16] = [-1, -1, -1]
    /// For each node the indices of the words that pass through it.
    private(set) var below: [Range<Int>] = [0..<0, 0..<0, 0..<0]
    /// The known words, sorted.
    let words: [String]

    init(words: Set<String>) {
        self.words = words.sorted()
        classes = (0...255).map(WordTable.classOf)
        next = [Node](repeating: WordTable.unknown, count: 3 * WordTable.stride)
        for (index, word) in self.words.enumerated() {
            var node = WordTable.root
            for letter in word.utf8 {
                let edge = Int(node) * WordTable.stride + Int(letter - UInt8(ascii: "a"))
                if next[edge] == WordTable.unknown {
                    next[edge] = Node(wordAt.count)
                    next += [Node](repeating: WordTable.unknown, count: WordTable.stride)
                    wordAt.append(-1)
                    below.append(index..<index)
                }
                node = next[edge]
                below[Int(node)] = below[Int(node)].lowerBound..<(index + 1)
            }
            wordAt[Int(node)] = Int16(index)
        }
    }

    static func edge(_ node: Node, _ letter: UInt8) -> Int { Int(node) &* stride &+ Int(letter) }

    private static func classOf(_ byte: Int) -> UInt8 {
        switch UInt8(byte) {
        case 0x41...0x5A: UInt8(byte) - 0x41
        case 0x61...0x7A: UInt8(byte) - 0x61
        case 0x30...0x39: Class.digit
        case UInt8(ascii: "."), UInt8(ascii: "!"), UInt8(ascii: "?"): Class.terminator
        case UInt8(ascii: " "), 0x09: Class.space
        case 0x0A, 0x0D: Class.newline
        case 0, UInt8(ascii: "*"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "~"): Class.ignored
        case UInt8(ascii: "\""), UInt8(ascii: ">"): Class.quote
        case 0x80...: Class.multibyte
        default: Class.separator
        }
    }

    /// The scalar of a character of two to four bytes, given as its big-endian bytes.
    static func scalar(of bytes: UInt32) -> UInt32 {
        let last = (bytes >> 8 & 0x3F) << 6 | bytes & 0x3F
        if bytes <= 0xFFFF { return last & 0x7FF }
        if bytes <= 0xFF_FFFF { return (bytes >> 16 & 0x0F) << 12 | last }
        return (bytes >> 24 & 0x07) << 18 | (bytes >> 16 & 0x3F) << 12 | last
    }

    /// The value of a digit outside ASCII: of full width, of the mathematical alphabets, Arabic, Persian or Devanagari.
    static func digit(_ scalar: UInt32) -> UInt8? {
        switch scalar {
        case 0xFF10...0xFF19: UInt8(scalar - 0xFF10)
        case 0x1D7CE...0x1D7FF: UInt8((scalar - 0x1D7CE) % 10)
        case 0x660...0x669: UInt8(scalar - 0x660)
        case 0x6F0...0x6F9: UInt8(scalar - 0x6F0)
        case 0x966...0x96F: UInt8(scalar - 0x966)
        default: nil
        }
    }

    /// The class of a letter of full width, of the mathematical alphabets, or of another script that looks like a Latin one; nil for others.
    private static func lookalike(_ scalar: UInt32) -> UInt8? {
        switch scalar {
        case 0xFF21...0xFF3A: UInt8(scalar - 0xFF21)
        case 0xFF41...0xFF5A: UInt8(scalar - 0xFF41)
        case 0x1D400...0x1D6A3: UInt8((scalar - 0x1D400) % 26)
        case 0x370..<0x530, 0x1D00..<0x1D30, 0x2100..<0x2150:
            FoldingTables.homoglyphs[scalar].map { UInt8($0) - UInt8(ascii: "a") }
        default: nil
        }
    }

    /// The class of a character of several bytes, given as its big-endian bytes.
    static func classOf(character bytes: UInt32) -> UInt8 {
        switch bytes {
        case 0xC2A0, 0xE28080...0xE2808A, 0xE280AF, 0xE2819F, 0xE38080: return Class.space
        // Characters of no width. The last one makes a keycap of a digit.
        case 0xC2AD, 0xCC80...0xCDAF, 0xE2808B...0xE2808F, 0xE281A0...0xE281A4, 0xEFB880...0xEFB88F, 0xEFBBBF, 0xE283A3:
            return Class.ignored
        case 0xEFBC8D: return Class.separator
        // Quotation marks, and the mark that opens a Spanish question.
        case 0xC2AB, 0xC2BF, 0xE2809C...0xE2809E: return Class.quote
        // …‼⁇⁈⁉
        case 0xE280A6, 0xE280BC, 0xE28187...0xE28189: return Class.terminator
        // Full stops, exclamation and question marks that no space follows, or of scripts that the rules do not read: 。｡！？．؟۔।॥
        case 0xE38082, 0xEFBDA1, 0xEFBC81, 0xEFBC8E, 0xEFBC9F, 0xD89F, 0xDB94, 0xE0A5A4, 0xE0A5A5: return Class.newline
        // U+0085, U+2028 and U+2029 end lines.
        case 0xC285, 0xE280A8, 0xE280A9: return Class.newline
        // U+00C0 to U+024F: the letters of the table.
        case 0xC380...0xC98F:
            let folded = FoldingTables.latin[Int(scalar(of: bytes) - 0xC0)]
            return folded == FoldingTables.unfolded ? Class.otherLetter : folded - UInt8(ascii: "a")
        default: return classOf(scalar: scalar(of: bytes))
        }
    }

    private static func classOf(scalar: UInt32) -> UInt8 {
        if digit(scalar) != nil { return Class.digit }
        if let letter = lookalike(scalar) { return letter }
        return switch scalar {
        // Punctuation, symbols and pictures.
        case 0x80...0xBF, 0x2000...0x2FFF, 0x3000...0x303F, 0x10000...: Class.separator
        default: Class.otherLetter
        }
    }
}
