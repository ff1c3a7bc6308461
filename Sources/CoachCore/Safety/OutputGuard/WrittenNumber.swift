/// A number of an answer as it is written: its digits, their groups, and the characters around them.
struct WrittenNumber: Sendable {
    private(set) var digits = PhoneNumbers.Digits()
    /// Lengths of the groups, four bits each, the last one lowest; groups of more than 15 digits count as 15.
    private var groupLengths: UInt64 = 0
    private var groupCount = 0
    /// A "$" or "#" is before it.
    var isAmount = false
    var hasPlus = false
    var hasSlashOrDot = false
    var hasHyphen = false
    /// Letters stand for some of its digits: "1-800-FLOWERS".
    var isVanity = false

    private static let tollFree: Set<UInt64> = [800, 833, 844, 855, 866, 877, 888]

    mutating func append(_ digit: UInt8, startsGroup: Bool) {
        if digits.count < PhoneNumbers.Digits.maximumCount { digits.append(digit) }
        if startsGroup {
            groupLengths <<= 4
            groupCount += 1
        }
        if groupLengths & 15 < 15 { groupLengths += 1 }
    }

    /// Whether it begins with an international prefix: "+" or "00".
    var hasPrefix: Bool { hasPlus || (digits.count > 2 && digits.value < .power(ofTen: digits.count - 2)) }

    /// Whether it begins with a toll-free area code, also after "0" or "1".
    var startsTollFree: Bool {
        guard digits.count >= 3 else { return false }
        let leading = digits.value / .power(ofTen: max(0, digits.count - 4))
        return Self.tollFree.contains(leading) || Self.tollFree.contains(leading / 10)
            || (leading >= 1_000 && Self.tollFree.contains(leading % 1_000))
    }

    /// Whether it is written like a short code: no amount, no fraction, no range of two numbers.
    var isWrittenAsShortCode: Bool {
        digits.count >= PhoneNumbers.shortestCode && !hasSlashOrDot && !hasHyphen && !isAmount
    }

    var isYear: Bool { digits.count == 4 && groupCount == 1 && Self.isYear(digits.value) }

    /// Whether a number of `PhoneNumbers.minimumLength` digits or more is no phone number, by the way in which it is written. Each of the properties
    /// below is one exception. Near a word such as "call" only amounts and dates are exceptions.
    func isOrdinary(nearCall: Bool) -> Bool {
        if hasPlus || isVanity { return false }
        let groups = groups
        if isAmount || isDate(groups, nearCall: nearCall) { return true }
        if nearCall { return false }
        return isCompactDate || isRound || isISBN || areSmall(groups) || isDecimal(groups) || areYears(groups) || isThousands(groups)
    }
}

// MARK: Exceptions

extension WrittenNumber {
    private typealias Group = (value: UInt64, length: Int)

    /// The groups in their order. Empty when there are more groups, or longer ones, than `groupLengths` can hold.
    private var groups: [Group] {
        guard groupCount <= 16 else { return [] }
        let lengths = (0..<groupCount).map { Int(groupLengths >> UInt64(4 * (groupCount - 1 - $0)) & 15) }
        guard lengths.reduce(0, +) == digits.count else { return [] }
        var rest = digits.value
        return lengths.reversed().map { length in
            defer { rest /= .power(ofTen: length) }
            return (rest % .power(ofTen: length), length)
        }.reversed()
    }

    private var startsWithZero: Bool { digits.value < .power(ofTen: digits.count - 1) }

    /// "12/05/2026" and "2026-05-12 14:30". "12 05 2026", with spaces only, is no date near a call.
    private func isDate(_ groups: [Group], nearCall: Bool) -> Bool {
        guard groups.count >= 3, groups[1].length <= 2, groups.dropFirst(3).allSatisfy({ $0.length <= 2 }),
            hasSlashOrDot || hasHyphen || !nearCall
        else { return false }
        let isYearFirst = groups[0].length == 4 && groups[2].length <= 2
        guard isYearFirst || (groups[0].length <= 2 && groups[2].length == 4) else { return false }
        let (year, day) = isYearFirst ? (groups[0], groups[2]) : (groups[2], groups[0])
        return Self.isYear(year.value) && Self.isDayAndMonth(day.value, groups[1].value)
    }

    /// "20260314".
    private var isCompactDate: Bool {
        let (month, day) = (digits.value / 100 % 100, digits.value % 100)
        return groupCount == 1 && digits.count == 8 && Self.isYear(digits.value / 10_000) && month <= 12 && Self.isDayAndMonth(month, day)
    }

    /// "10000000".
    private var isRound: Bool { groupCount == 1 && digits.value % 10_000 == 0 && !startsWithZero }

    /// "978-3-16-148410-0".
    private var isISBN: Bool { digits.count == 13 && [978, 979].contains(digits.value / .power(ofTen: 10)) }

    /// "10 12 15 20": four groups or more, so no date.
    private func areSmall(_ groups: [Group]) -> Bool {
        groups.count > 1 && groups.allSatisfy { $0.length <= 2 } && !startsWithZero
    }

    /// "3.1415926".
    private func isDecimal(_ groups: [Group]) -> Bool { groups.count == 2 && hasSlashOrDot && !hasHyphen && groups[0].length <= 2 }

    /// "2025/2026".
    private func areYears(_ groups: [Group]) -> Bool {
        groups.count > 1 && groups.allSatisfy { $0.length == 4 && Self.isYear($0.value) }
    }

    /// "1.234.567", "2 102 650" and "10 000 000". A Spanish mobile number has three digits first.
    private func isThousands(_ groups: [Group]) -> Bool {
        let longest = digits.value % 10_000 == 0 ? 3 : hasSlashOrDot ? 2 : 1
        return groups.count > 1 && !startsWithZero && !hasHyphen && groups[0].length <= longest
            && groups.dropFirst().allSatisfy { $0.length == 3 }
    }

    private static func isYear(_ value: UInt64) -> Bool { (1_900..<2_100).contains(value) }

    /// Whether they are a day and a month, in any order.
    private static func isDayAndMonth(_ one: UInt64, _ other: UInt64) -> Bool {
        (1...31).contains(one) && (1...31).contains(other) && min(one, other) <= 12
    }
}

extension UInt64 {
    static func power(ofTen exponent: Int) -> UInt64 { (0..<exponent).reduce(1) { power, _ in power * 10 } }
}
