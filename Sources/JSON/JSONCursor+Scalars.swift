extension JSONCursor {
    /// Consumes a `null`. Returns false and consumes nothing when another value is next.
    public mutating func skipNull() throws(JSONError) -> Bool {
        guard try valueStart() == UInt8(ascii: "n") else { return false }
        try readLiteral("null")
        return true
    }

    /// Reads `true` or `false`.
    public mutating func readBool() throws(JSONError) -> Bool {
        switch try valueStart() {
        case UInt8(ascii: "t"):
            try readLiteral("true")
            return true
        case UInt8(ascii: "f"):
            try readLiteral("false")
            return false
        default: throw mismatch(.bool)
        }
    }

    /// Reads a whole number. `12.0` and `1e2` are whole, because JSON has only one kind of number (RFC 8259 §6).
    public mutating func readInteger() throws(JSONError) -> Int {
        let start = try numberStart()
        let number = try scanNumber()
        let value = number.isInteger ? integer(number.range) : Int(exactly: try double(number.range))
        guard let value else { throw JSONError(.numberOutOfRange, offset: start) }
        return value
    }

    /// Reads a number.
    public mutating func readNumber() throws(JSONError) -> Double {
        _ = try numberStart()
        return try double(scanNumber().range)
    }

    /// Scans a number: its range in the text, and whether it has neither fraction nor exponent.
    mutating func scanNumber() throws(JSONError) -> (range: Range<Int>, isInteger: Bool) {
        let start = position
        var isInteger = true
        if bytes[position] == Byte.minus { position += 1 }
        if try currentByte() == Byte.zero { position += 1 } else { try scanDigits() }
        if position < bytes.endIndex, bytes[position] == Byte.dot {
            isInteger = false
            position += 1
            try scanDigits()
        }
        if position < bytes.endIndex, bytes[position] | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            position += 1
            let sign = try currentByte()
            if sign == Byte.plus || sign == Byte.minus { position += 1 }
            try scanDigits()
        }
        endValue(at: position)
        return (start..<position, isInteger)
    }

    /// The value of digits with an optional minus sign; nil when it does not fit into `Int`.
    func integer(_ range: Range<Int>) -> Int? {
        var digits = bytes[range]
        let isNegative = digits.first == Byte.minus
        if isNegative { digits.removeFirst() }
        var value = 0
        for byte in digits {
            let digit = Int(byte &- Byte.zero)
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = isNegative ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
            if overflow || carry { return nil }
            value = sum
        }
        return value
    }

    func double(_ range: Range<Int>) throws(JSONError) -> Double {
        guard let value = Double(String(decoding: bytes[range], as: UTF8.self)), value.isFinite else {
            throw JSONError(.numberOutOfRange, offset: range.lowerBound - bytes.startIndex)
        }
        return value
    }

    func isNegative(_ range: Range<Int>) -> Bool { bytes[range.lowerBound] == Byte.minus }

    private mutating func numberStart() throws(JSONError) -> Int {
        let byte = try valueStart()
        guard byte == Byte.minus || Byte.isDigit(byte) else { throw mismatch(.number) }
        return offset
    }

    private mutating func scanDigits() throws(JSONError) {
        let first = try currentByte()
        guard Byte.isDigit(first) else { throw error(.unexpectedByte(first)) }
        while position < bytes.endIndex, Byte.isDigit(bytes[position]) { position += 1 }
    }

    private mutating func readLiteral(_ literal: StaticString) throws(JSONError) {
        for expected in literal.utf8 {
            let byte = try currentByte()
            guard byte == expected else { throw error(.unexpectedByte(byte)) }
            position += 1
        }
        endValue(at: position)
    }
}
