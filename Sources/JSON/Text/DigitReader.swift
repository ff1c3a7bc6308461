/// Parses fixed-width numbers from the front of a text.
struct DigitReader {
    var bytes: ArraySlice<UInt8>

    var isAtEnd: Bool { bytes.isEmpty }

    mutating func number(_ digits: Int) -> Int? {
        guard bytes.count >= digits else { return nil }
        var value = 0
        for byte in bytes.prefix(digits) {
            guard byte &- UInt8(ascii: "0") <= 9 else { return nil }
            value = value * 10 + Int(byte - UInt8(ascii: "0"))
        }
        bytes.removeFirst(digits)
        return value
    }

    mutating func skip(_ separators: Unicode.Scalar...) -> Bool {
        guard let first = bytes.first, separators.contains(Unicode.Scalar(first)) else { return false }
        bytes.removeFirst()
        return true
    }

    /// Parses `2026-03-01`.
    mutating func date() -> CivilDate? {
        guard let year = number(4), skip("-"), let month = number(2), skip("-"), let day = number(2) else { return nil }
        return CivilDate(year: year, month: month, day: day)
    }

    /// Parses one or more decimals as thousandths.
    mutating func milliseconds() -> Int? {
        var value = 0
        var count = 0
        while let digit = number(1) {
            if count < 3 { value = value * 10 + digit }
            count += 1
        }
        guard count > 0 else { return nil }
        for _ in count..<max(3, count) { value *= 10 }
        return value
    }

    /// Parses `Z` or `±hh:mm`.
    mutating func offsetMinutes() -> Int? {
        if skip("Z", "z") { return 0 }
        let sign = bytes.first == UInt8(ascii: "-") ? -1 : 1
        guard skip("+", "-"), let hours = number(2), skip(":"), let minutes = number(2), hours < 24, minutes < 60 else { return nil }
        return sign * (hours * 60 + minutes)
    }
}
