/// Follows the digits of an answer and decides whether they are a phone number or a short code. Groups of digits may be separated by a few spaces,
/// hyphens, dots, slashes and parentheses.
struct NumberScanner: Sendable {
    enum Verdict {
        /// No phone number, or one of the resource table.
        case allowed
        case forbidden
        /// A short code when the next word is one of `OutputRules.afterNumber`, else a quantity.
        case dependsOnNextWord
    }

    /// How near a word such as "call" is before a number. Near it a short number is a short code.
    enum CallProximity {
        case none
        case near
        /// It is the word before.
        case adjacent
    }

    private var number = WrittenNumber()
    private var call = CallProximity.none
    /// The digits are words.
    private(set) var isSpelled = false
    /// Offset from which the text is held; nil while it is too short for a phone number.
    private(set) var heldFrom: Int?
    /// Characters since the last digit.
    private var gap = 0
    /// The last of these characters; 0 for none.
    private var previousByte: UInt8 = 0
    /// The last four digits of the listed number with letters before it, which may be repeated: "1-800-662-HELP (4357)".
    private var repeated: UInt64?

    /// Digits of the longest number that may begin a range: "a text of 250 to 300 words". Short codes that are made up are longer.
    private static let longestInRange = 3
    /// Characters between two groups: ") -".
    private static let maximumGap = 3
    /// The digit of each letter's key, from "A" on.
    private static let keypad = Array("22233344455566677778889999".utf8).map { $0 - 0x30 }

    init() {}

    /// For the text that follows a listed number.
    init(after listed: NumberScanner) { repeated = listed.isVanity ? listed.number.digits.value % 10_000 : nil }

    var isActive: Bool { number.digits.count > 0 }

    var isVanity: Bool { number.isVanity }

    /// Whether it is so short, and so far from a word such as "call", that it may begin a range.
    var mayBeginRange: Bool { number.digits.count <= Self.longestInRange && call != .adjacent }

    /// Takes a digit. `byte` is the one before it.
    mutating func take(digit: UInt8, at offset: Int, after byte: UInt8, _ call: CallProximity) {
        if !isActive {
            number.isAmount = byte == UInt8(ascii: "$") || byte == UInt8(ascii: "#")
            number.hasPlus = byte == UInt8(ascii: "+")
            self.call = call
        }
        append(digit, startsGroup: !isActive || gap > 0, at: offset)
    }

    /// Takes a word that names a digit.
    mutating func take(word digit: UInt8, at offset: Int, _ call: CallProximity) {
        if !isActive {
            isSpelled = true
            self.call = call
        }
        append(digit, startsGroup: !isActive, at: offset)
    }

    /// Takes a capital letter after "1-800-", which stands for the digit of its key. False when the number ends before the letter.
    mutating func take(letter: UInt8, at offset: Int) -> Bool {
        guard (0x41...0x5A).contains(letter), previousByte == UInt8(ascii: "-") || isVanity, number.startsTollFree else { return false }
        number.isVanity = true
        append(Self.keypad[Int(letter - 0x41)], startsGroup: gap > 0, at: offset)
        return true
    }

    /// Takes a character between two digits. False when the number ends before it.
    mutating func take(separator byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: " "), UInt8(ascii: "("), UInt8(ascii: ")"): break
        default: return false
        }
        gap += 1
        previousByte = byte
        return gap <= Self.maximumGap
    }

    private mutating func append(_ digit: UInt8, startsGroup: Bool, at offset: Int) {
        number.append(digit, startsGroup: startsGroup)
        // Only now is it known that the separator did not end a sentence.
        if previousByte == UInt8(ascii: ".") || previousByte == UInt8(ascii: "/") { number.hasSlashOrDot = true }
        if previousByte == UInt8(ascii: "-") { number.hasHyphen = true }
        gap = 0
        previousByte = 0
        // "10 minutes" is not held.
        let mayBeForbidden = call != .none || number.hasPlus || number.digits.count >= PhoneNumbers.shortestCode
        if heldFrom == nil, mayBeForbidden { heldFrom = offset }
    }

    /// Whether the digits so far are a number of the table. What follows is then another number: "116 123 (24/7)".
    func isListed(_ known: PhoneNumbers) -> Bool { known.contains(number.digits, hasPrefix: number.hasPrefix) }

    /// The verdict when the number is over.
    func verdict(_ known: PhoneNumbers) -> Verdict {
        let digits = number.digits
        if isListed(known) || (digits.count == 4 && digits.value == repeated) { return .allowed }
        let nearCall = call != .none
        if isSpelled { return nearCall && digits.count >= PhoneNumbers.shortestCode ? .forbidden : .allowed }
        if digits.count >= PhoneNumbers.minimumLength { return number.isOrdinary(nearCall: nearCall) ? .allowed : .forbidden }
        guard nearCall, number.isWrittenAsShortCode else { return .allowed }
        return number.isYear && call != .adjacent ? .allowed : .dependsOnNextWord
    }
}
