/// Folds Unicode scalars to lower-case Latin letters without diacritics, digits and a few punctuation marks. For Latin script the result
/// corresponds to NFKC, case folding and removal of marks, by table lookup without allocation. Letters of other scripts do not change.
enum ScalarFolding {
    /// Prefix of an emoji's name, so that the word "pill" and the emoji are different tokens. U+E000 is a private-use scalar; a typed one
    /// folds to a space.
    static let emojiMark: UInt32 = 0xE000
    /// Separates words without ending a clause.
    static let space: UInt32 = 0x20
    /// Ends a clause but not a sentence.
    static let ellipsis: UInt32 = 0x2026

    /// Appends the folded form of a scalar: zero scalars for zero-width characters and combining marks, several for ligatures and emoji.
    static func append(_ scalar: Unicode.Scalar, to units: inout [UInt32]) {
        let value = scalar.value
        if value < 0x80 {
            units.append(ascii(UInt8(truncatingIfNeeded: value)))
            return
        }
        switch value {
        case 0x2028, 0x2029, 0x85: units.append(0x0A)
        case 0xC0..<0x250: latin(value, scalar, FoldingTables.latin, from: 0xC0, to: &units)
        case 0x1E00..<0x1F00: latin(value, scalar, FoldingTables.latinAdditional, from: 0x1E00, to: &units)
        case 0x300...0x36F, 0x1AB0...0x1AFF, 0x20D0...0x20FF, 0xFE00...0xFE0F, 0xE0100...0xE01EF, 0x1F3FB...0x1F3FF: break
        case _ where scalar.isInvisible: break
        case 0x2018, 0x2019, 0x201B, 0x2032, 0xB4, 0x60, 0x2BC, 0xFF07: units.append(0x27)
        case 0x201C...0x201F, 0xAB, 0xBB: units.append(0x22)
        case 0x2010, 0x2011: units.append(0x2D)
        case 0x2012...0x2015: units.append(0x2C)
        case 0xA1, 0xBF: units.append(0x2C)
        case ellipsis: units.append(ellipsis)
        case 0xFF01...0xFF5E: units.append(ascii(UInt8(truncatingIfNeeded: value - 0xFEE0)))
        case 0x1D400...0x1D6A3: units.append(letter((value - 0x1D400) % 52))
        case 0x1D7CE...0x1D7FF: units.append(0x30 + (value - 0x1D7CE) % 10)
        case 0x249C...0x24B5: units.append(0x61 + value - 0x249C)
        case 0x24B6...0x24E9: units.append(letter(value - 0x24B6))
        case 0x1F130...0x1F149, 0x1F150...0x1F169, 0x1F170...0x1F189: units.append(letter((value - 0x1F130) & 0x1F))
        case 0x370..<0x530, 0x2100..<0x2150, 0x1D00..<0x1D30: homoglyph(value, scalar, to: &units)
        case 0xFB00...0xFB06: units.append(contentsOf: FoldingTables.ligatures[Int(value - 0xFB00)])
        case 0x2190...0x2BFF, 0x1F000...0x1FAFF: emoji(value, to: &units)
        case emojiMark: units.append(space)
        default: units.append(scalar.properties.isAlphabetic ? value : space)
        }
    }

    private static func ascii(_ byte: UInt8) -> UInt32 {
        switch byte {
        case 0x41...0x5A: UInt32(byte) + 0x20
        case 0x60: 0x27
        case 0x09, 0x0D: space
        case 0..<0x0A, 0x0B..<0x20, 0x7F: space
        default: UInt32(byte)
        }
    }

    /// The lower-case letter for an index into A…Z a…z.
    private static func letter(_ index: UInt32) -> UInt32 { 0x61 + index % 26 }

    private static func latin(
        _ value: UInt32, _ scalar: Unicode.Scalar, _ table: [UInt8], from first: UInt32, to units: inout [UInt32]
    ) {
        let folded = table[Int(value - first)]
        if folded != FoldingTables.unfolded {
            units.append(UInt32(folded))
            return
        }
        switch value {
        case 0xC6, 0xE6: units.append(contentsOf: [0x61, 0x65])
        case 0xDF, 0x1E9E: units.append(contentsOf: [0x73, 0x73])
        case 0x152, 0x153: units.append(contentsOf: [0x6F, 0x65])
        case 0xD7, 0xF7: units.append(space)
        default: units.append(scalar.properties.isAlphabetic ? value : space)
        }
    }

    private static func homoglyph(_ value: UInt32, _ scalar: Unicode.Scalar, to units: inout [UInt32]) {
        if let look = FoldingTables.homoglyphs[value] {
            units.append(look)
        } else {
            units.append(scalar.properties.isAlphabetic ? value : space)
        }
    }

    private static func emoji(_ value: UInt32, to units: inout [UInt32]) {
        units.append(space)
        guard let name = FoldingTables.emoji[value] else { return }
        units.append(emojiMark)
        units.append(contentsOf: name.utf8.lazy.map(UInt32.init))
        units.append(space)
    }
}
