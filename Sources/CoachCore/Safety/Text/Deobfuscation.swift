/// Restores words that are obfuscated against word filters: spaced letters, and digits or symbols in place of letters (leetspeak).
enum Deobfuscation {
    /// The restored units; nil when nothing was obfuscated.
    static func restore(_ units: [UInt32]) -> [UInt32]? {
        var result: [UInt32] = []
        result.reserveCapacity(units.count)
        var changed = false
        var index = 0
        while index < units.count {
            let end = runEnd(units, from: index)
            if end == index {
                result.append(units[index])
                index += 1
            } else if let joined = spacedLetters(units, from: index) {
                result.append(contentsOf: joined.letters)
                index = joined.end
                changed = true
            } else {
                changed = appendWithoutLeetspeak(units[index..<end], to: &result) || changed
                index = end
            }
        }
        return changed ? result : nil
    }

    private static func isLetter(_ unit: UInt32) -> Bool { (0x61...0x7A).contains(unit) }

    private static func isRunUnit(_ unit: UInt32) -> Bool { TokenSequence.isWord(unit) || unit == 0x27 || substitute(unit) != nil }

    private static func runEnd(_ units: [UInt32], from first: Int) -> Int {
        var end = first
        while end < units.count, isRunUnit(units[end]) { end += 1 }
        return end
    }

    /// The letter that a digit or symbol replaces; 0 for a symbol that is dropped.
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

    /// Appends a run without spaces. If it has two letters or more, replaces digits and symbols by letters, and returns true when it has replaced one.
    /// Symbols after the last letter are punctuation. A digit before one or two letters is a number: "5am".
    private static func appendWithoutLeetspeak(_ run: ArraySlice<UInt32>, to result: inout [UInt32]) -> Bool {
        guard let first = run.firstIndex(where: isLetter), let last = run.lastIndex(where: isLetter), first < last else {
            result.append(contentsOf: run)
            return false
        }
        let begin = last - first < 2 ? first : run.startIndex
        var changed = false
        for index in run.indices {
            let unit = run[index]
            guard index >= begin, let letter = substitute(unit), index < last || (0x30...0x39).contains(unit) else {
                result.append(unit)
                continue
            }
            changed = true
            if letter != 0 { result.append(letter) }
        }
        return changed
    }

    /// Joins three or more single letters with the same separator between them into a word. Two separators in a row end the word.
    private static func spacedLetters(_ units: [UInt32], from first: Int) -> (letters: [UInt32], end: Int)? {
        func isSingle(_ index: Int) -> Bool {
            guard index < units.count else { return false }
            guard isLetter(units[index]) || (substitute(units[index]) ?? 0) != 0 else { return false }
            return (index == 0 || !isRunUnit(units[index - 1])) && (index + 1 == units.count || !isRunUnit(units[index + 1]))
        }
        guard isSingle(first), first + 1 < units.count else { return nil }
        let separator = units[first + 1]
        guard !isRunUnit(separator), separator != 0x0A else { return nil }
        var letters = [substitute(units[first]) ?? units[first]]
        var index = first
        while index + 2 < units.count, units[index + 1] == separator, isSingle(index + 2) {
            index += 2
            letters.append(substitute(units[index]) ?? units[index])
        }
        return letters.count >= 3 ? (letters, index + 1) : nil
    }
}
