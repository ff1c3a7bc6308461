/// The phone numbers and short codes of the resource table, by their digits.
struct PhoneNumbers: Sendable {
    /// Digits of a number, as an integer with their count, so that leading zeros differ.
    struct Digits: Hashable, Sendable {
        var value: UInt64 = 0
        var count = 0

        /// Longest phone number (ITU-T E.164 §6) with an international prefix of up to three digits.
        static let maximumCount = 18

        mutating func append(_ digit: UInt8) {
            value = value * 10 + UInt64(digit)
            count += 1
        }

        fileprivate func dropFirst(_ dropped: Int) -> Digits {
            Digits(value: value % .power(ofTen: count - dropped), count: count - dropped)
        }
    }

    /// Digits of the shortest phone number. Shorter numbers are short codes.
    static let minimumLength = 7
    /// Digits of the shortest short code: "988".
    static let shortestCode = 3
    /// Shortest number that follows a country code: "+61 13 11 14".
    private static let shortestAfterPrefix = 6
    /// Longest prefix: "00" and a country code of three digits.
    private static let longestPrefix = 5

    private var numbers: Set<Digits> = []

    init(_ texts: some Sequence<String>) {
        for text in texts {
            // "text AYUDA to 741741", "0800 1110111": letters separate numbers, other characters do not.
            for part in text.split(whereSeparator: \.isLetter) {
                var digits = Digits()
                for byte in part.utf8.prefix(Digits.maximumCount * 2)
                where (0x30...0x39).contains(byte) && digits.count < Digits.maximumCount {
                    digits.append(byte - 0x30)
                }
                guard digits.count > 0 else { continue }
                numbers.insert(digits)
                // Also without the trunk prefix or the prefix "1": as it follows a country code.
                let national = digits.dropFirst(1)
                if digits.count > PhoneNumbers.minimumLength, digits.value / 10 != 0, text.first == "0" || text.first == "1" {
                    numbers.insert(national)
                }
            }
        }
    }

    /// Whether the digits are a number of the table, long ones also after an international prefix. `hasPrefix`: they are known to begin with one.
    func contains(_ digits: Digits, hasPrefix: Bool = false) -> Bool {
        if numbers.contains(digits) { return true }
        let shortest = hasPrefix ? PhoneNumbers.shortestAfterPrefix : PhoneNumbers.minimumLength
        let longest = min(PhoneNumbers.longestPrefix, digits.count - shortest)
        return longest > 0 && (1...longest).contains { numbers.contains(digits.dropFirst($0)) }
    }
}
