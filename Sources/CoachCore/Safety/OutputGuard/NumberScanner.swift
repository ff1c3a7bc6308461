/// Follows the digits of an answer and decides whether they are a phone number. Groups may be separated by a few spaces, hyphens, dots,
/// slashes and parentheses.
struct NumberScanner: Sendable {
    enum Verdict {
        /// No phone number, or one of the resource table.
        case allowed
        case forbidden
        /// A short code when the next word is one of `OutputRules.afterNumber`, else a quantity.
        case dependsOnNextWord
    }

    private var digits = PhoneNumbers.Digits()
    /// Lengths of the groups, four bits each, the last one lowest; groups of more than 15 digits count as 15.
    private var groups: UInt64 = 0
    private var groupCount = 0
    /// Characters since the last digit.
    private var gap = 0
    private var hasSlashOrDot = false
    private var hasHyphen = false
    private var isAmount = false
    private var hasPlus = false
    /// A word such as "call" is near.
    private var isCode = false
    /// That word is the one before.
    private var followsCall = false
    /// It continues with letters: "1-800-…".
    private(set) var isVanity = false
    /// The last four digits of the listed number with letters before it, which may be repeated: "1-800-662-HELP (4357)".
    private var repeated: UInt64?
    /// The digits are words.
    private(set) var isSpelled = false
    private var previousByte: UInt8 = 0
    /// Offset from which the text is held; nil while it is too short for a phone number.
    private(set) var heldFrom: Int?

    /// Digits before a number is held: "10 minutes" and "24 hours" are not.
    private static let digitsReleased = 2
    /// Digits of the longest number that may begin a range: "a text of 250 to 300 words". Short codes that are made up are longer.
    private static let longestInRange = 3
    /// Characters between two groups: ") -".
    private static let maximumGap = 3
    private static let tollFree: Set<UInt64> = [800, 833, 844, 855, 866, 877, 888]

    var isActive: Bool { digits.count > 0 }

    init() {}

    /// For what follows a listed number.
    init(after listed: NumberScanner) { repeated = listed.isVanity ? listed.digits.value % 10_000 : nil }

    /// `byte` is the one before the digit; `isCalling`: a word such as "call" is near; `followsCall`: it is the word before.
    mutating func take(digit: UInt8, at offset: Int, after byte: UInt8, isCalling: Bool, followsCall: Bool) {
        if !isActive {
            isAmount = byte == UInt8(ascii: "$") || byte == UInt8(ascii: "#")
            hasPlus = byte == UInt8(ascii: "+")
            isCode = isCalling
            self.followsCall = followsCall
        }
        append(digit, startsGroup: !isActive || gap > 0, at: offset)
    }

    /// A word that names a digit.
    mutating func take(word digit: UInt8, at offset: Int, isCalling: Bool) {
        if !isActive {
            isSpelled = true
            isCode = isCalling
        }
        append(digit, startsGroup: !isActive, at: offset)
    }

    /// A capital letter after "1-800-", which stands for the digit of its key.
    mutating func take(letter: UInt8, at offset: Int) -> Bool {
        guard (0x41...0x5A).contains(letter), previousByte == UInt8(ascii: "-") || isVanity, startsTollFree else { return false }
        isVanity = true
        append(Array("22233344455566677778889999".utf8)[Int(letter - 0x41)] - 0x30, startsGroup: gap > 0, at: offset)
        return true
    }

    private var startsTollFree: Bool {
        guard digits.count >= 3 else { return false }
        var leading = digits.value
        for _ in 0..<max(0, digits.count - 4) { leading /= 10 }
        return NumberScanner.tollFree.contains(leading) || NumberScanner.tollFree.contains(leading / 10)
            || (leading >= 1_000 && NumberScanner.tollFree.contains(leading % 1_000))
    }

    private mutating func append(_ digit: UInt8, startsGroup: Bool, at offset: Int) {
        if digits.count < PhoneNumbers.Digits.maximumCount { digits.append(digit) }
        if startsGroup {
            groups = groups << 4
            groupCount += 1
        }
        if groups & 15 < 15 { groups += 1 }
        // Only now is it known that the separator was no end of a sentence.
        if previousByte == UInt8(ascii: ".") || previousByte == UInt8(ascii: "/") { hasSlashOrDot = true }
        if previousByte == UInt8(ascii: "-") { hasHyphen = true }
        gap = 0
        previousByte = 0
        let isSuspect = isCode || hasPlus || digits.count > NumberScanner.digitsReleased
        if heldFrom == nil, isSuspect { heldFrom = offset }
    }

    /// A character between two digits; false when the number ends before it.
    mutating func take(separator byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: " "), UInt8(ascii: "("), UInt8(ascii: ")"): break
        default: return false
        }
        gap += 1
        previousByte = byte
        return gap <= NumberScanner.maximumGap
    }

    /// Whether the digits so far are a number of the table, and what follows is another one: "116 123 (24/7)".
    func isListed(_ known: PhoneNumbers) -> Bool { known.contains(digits, hasPrefix: hasPrefix) }

    /// Whether it begins with an international prefix.
    private var hasPrefix: Bool { hasPlus || (digits.count > 2 && digits.value < power(digits.count - 2)) }

    /// Whether it is so short, and so far from a word such as "call", that it may begin a range.
    var mayBeginRange: Bool { digits.count <= NumberScanner.longestInRange && !followsCall }

    /// The verdict when the number is over.
    func verdict(_ known: PhoneNumbers) -> Verdict {
        if isListed(known) { return .allowed }
        if digits.count == 4, digits.value == repeated { return .allowed }
        if isSpelled { return isCode && digits.count >= 3 ? .forbidden : .allowed }
        if digits.count >= PhoneNumbers.minimumLength { return isOrdinary ? .allowed : .forbidden }
        guard isCode, digits.count >= 3, !hasSlashOrDot, !hasHyphen, !isAmount else { return .allowed }
        let isYear = digits.count == 4 && groupCount == 1 && NumberScanner.isYear(digits.value)
        return isYear && !followsCall ? .allowed : .dependsOnNextWord
    }

    /// Amounts, dates, years, decimals, thousands and rows of small numbers. Behind a word such as "call" only what is written as a date.
    private var isOrdinary: Bool {
        if hasPlus || isVanity { return false }
        if isAmount { return true }
        let groups = groupValues
        if isDate(groups) { return true }
        if isCode { return false }
        let startsWithZero = digits.value < power(digits.count - 1)
        if groupCount == 1 { return isCompactDate || isISBN || (digits.value % 10_000 == 0 && !startsWithZero) }
        guard !groups.isEmpty else { return false }
        // Four groups and more, so no date.
        if groups.allSatisfy({ $0.length <= 2 }) { return !startsWithZero }
        if groups.count == 2, hasSlashOrDot, !hasHyphen, groups[0].length <= 2 { return true }
        if isISBN || groups.allSatisfy({ $0.length == 4 && NumberScanner.isYear($0.value) }) { return true }
        return !startsWithZero && isThousands(groups)
    }

    private static func isYear(_ value: UInt64) -> Bool { (1_900..<2_100).contains(value) }

    private static func isDay(_ one: UInt64, _ other: UInt64) -> Bool {
        (1...31).contains(one) && (1...31).contains(other) && min(one, other) <= 12
    }

    /// The groups of digits in their order. Empty when there are more than fit.
    private var groupValues: [(value: UInt64, length: Int)] {
        guard groupCount <= 16 else { return [] }
        let lengths = (0..<groupCount).map { Int(groups >> UInt64(4 * (groupCount - 1 - $0)) & 15) }
        guard lengths.reduce(0, +) == digits.count else { return [] }
        var rest = digits.value
        return lengths.reversed().map { length in
            defer { rest /= power(length) }
            return (rest % power(length), length)
        }.reversed()
    }

    /// "12/05/2026", "2026-05-12 14:30", and, where no call is meant, "12 05 2026".
    private func isDate(_ groups: [(value: UInt64, length: Int)]) -> Bool {
        guard groups.count >= 3, groups[1].length <= 2, groups.dropFirst(3).allSatisfy({ $0.length <= 2 }),
            hasSlashOrDot || hasHyphen || !isCode
        else { return false }
        let isYearFirst = groups[0].length == 4 && groups[2].length <= 2
        guard isYearFirst || (groups[0].length <= 2 && groups[2].length == 4) else { return false }
        let (year, day) = isYearFirst ? (groups[0], groups[2]) : (groups[2], groups[0])
        return NumberScanner.isYear(year.value) && NumberScanner.isDay(day.value, groups[1].value)
    }

    /// "1.234.567", "2 102 650" and "10 000 000". A Spanish mobile number has three digits first.
    private func isThousands(_ groups: [(value: UInt64, length: Int)]) -> Bool {
        let longest = digits.value % 10_000 == 0 ? 3 : hasSlashOrDot ? 2 : 1
        return !groups.isEmpty && !hasHyphen && groups[0].length <= longest && groups.dropFirst().allSatisfy { $0.length == 3 }
    }

    private var isISBN: Bool { digits.count == 13 && [978, 979].contains(digits.value / power(10)) }

    /// "20260314".
    private var isCompactDate: Bool {
        let (month, day) = (digits.value / 100 % 100, digits.value % 100)
        return digits.count == 8 && NumberScanner.isYear(digits.value / 10_000) && month <= 12 && NumberScanner.isDay(month, day)
    }

    private func power(_ exponent: Int) -> UInt64 { (0..<exponent).reduce(1) { power, _ in power * 10 } }
}
