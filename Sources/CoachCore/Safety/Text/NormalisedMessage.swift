/// A message in the two views that detection reads: as written, and with simple disguises undone ("k i l l", "su1c1de").
struct NormalisedMessage {
    /// As written.
    let plain: TokenSequence
    /// With disguises undone; nil when there were none.
    let undisguised: TokenSequence?

    /// Longest message that is read whole; of a longer one the two ends are read (facts: cap 4,000 scalars, first and last 2,000).
    static let scalarLimit = 4_000

    init(_ message: String) {
        let units = NormalisedMessage.fold(message)
        plain = TokenSequence(units)
        undisguised = Disguise.undo(units).map(TokenSequence.init)
    }

    static func fold(_ message: String) -> [UInt32] {
        var units: [UInt32] = []
        let scalars = message.unicodeScalars
        units.reserveCapacity(min(message.utf8.count, scalarLimit) + 8)
        // At most one scalar a byte: the exact count is needed for long messages only.
        if message.utf8.count <= scalarLimit || scalars.count <= scalarLimit {
            for scalar in scalars { ScalarFolding.append(scalar, to: &units) }
        } else {
            for scalar in scalars.prefix(scalarLimit / 2) { ScalarFolding.append(scalar, to: &units) }
            units.append(0x0A)
            for scalar in scalars.suffix(scalarLimit / 2) { ScalarFolding.append(scalar, to: &units) }
        }
        return units
    }
}

/// Undoes the disguises that people use against word filters: letters written apart, and digits or symbols in the place of letters.
enum Disguise {
    /// The units without disguises, or nil when nothing was disguised.
    static func undo(_ units: [UInt32]) -> [UInt32]? {
        var result: [UInt32] = []
        result.reserveCapacity(units.count)
        var changed = false
        var index = 0
        while index < units.count {
            let end = blobEnd(units, from: index)
            if end == index {
                result.append(units[index])
                index += 1
            } else if let joined = spacedLetters(units, from: index) {
                result.append(contentsOf: joined.letters)
                index = joined.end
                changed = true
            } else {
                changed = appendUnleeted(units[index..<end], to: &result) || changed
                index = end
            }
        }
        return changed ? result : nil
    }

    private static func isLetter(_ unit: UInt32) -> Bool { (0x61...0x7A).contains(unit) }

    private static func isBlob(_ unit: UInt32) -> Bool { TokenSequence.isWord(unit) || unit == 0x27 || substitute(unit) != nil }

    private static func blobEnd(_ units: [UInt32], from first: Int) -> Int {
        var end = first
        while end < units.count, isBlob(units[end]) { end += 1 }
        return end
    }

    /// What a digit or symbol stands for inside a word; 0 is "nothing".
    private static func substitute(_ unit: UInt32) -> UInt32? {
        switch unit {
        case UInt32(UInt8(ascii: "0")): 0x6F
        case UInt32(UInt8(ascii: "1")), UInt32(UInt8(ascii: "!")), UInt32(UInt8(ascii: "|")): 0x69
        case UInt32(UInt8(ascii: "3")): 0x65
        case UInt32(UInt8(ascii: "4")), UInt32(UInt8(ascii: "@")): 0x61
        case UInt32(UInt8(ascii: "5")), UInt32(UInt8(ascii: "$")): 0x73
        case UInt32(UInt8(ascii: "7")): 0x74
        case UInt32(UInt8(ascii: "*")): 0
        default: nil
        }
    }

    /// Appends a run without spaces, substituting in words of two letters or more; true when anything was. What follows the last
    /// letter is punctuation unless it is a digit; a digit before one or two letters counts something: "5am".
    private static func appendUnleeted(_ blob: ArraySlice<UInt32>, to result: inout [UInt32]) -> Bool {
        guard let first = blob.firstIndex(where: isLetter), let last = blob.lastIndex(where: isLetter), first < last else {
            result.append(contentsOf: blob)
            return false
        }
        let begin = last - first < 2 ? first : blob.startIndex
        var changed = false
        for index in blob.indices {
            let unit = blob[index]
            guard index >= begin, let letter = substitute(unit), index < last || (0x30...0x39).contains(unit) else {
                result.append(unit)
                continue
            }
            changed = true
            if letter != 0 { result.append(letter) }
        }
        return changed
    }

    /// Three or more single letters with one and the same separator between them, read as one word. Two separators end the word.
    private static func spacedLetters(_ units: [UInt32], from first: Int) -> (letters: [UInt32], end: Int)? {
        func lone(_ index: Int) -> Bool {
            guard index < units.count else { return false }
            guard isLetter(units[index]) || (substitute(units[index]) ?? 0) != 0 else { return false }
            return (index == 0 || !isBlob(units[index - 1])) && (index + 1 == units.count || !isBlob(units[index + 1]))
        }
        guard lone(first), first + 1 < units.count else { return nil }
        let separator = units[first + 1]
        guard !isBlob(separator), separator != 0x0A else { return nil }
        var letters = [substitute(units[first]) ?? units[first]]
        var index = first
        while index + 2 < units.count, units[index + 1] == separator, lone(index + 2) {
            index += 2
            letters.append(substitute(units[index]) ?? units[index])
        }
        return letters.count >= 3 ? (letters, index + 1) : nil
    }
}
