extension JSONWriter {
    /// Appends a quoted, escaped string.
    ///
    /// Escapes `"`, `\`, U+0000–U+001F, and U+0085, U+2028, U+2029, at which line readers of some platforms split. Everything else is
    /// written as UTF-8.
    /// - Parameter escapesLineSeparators: false: U+0085, U+2028 and U+2029 are written as UTF-8, too, which RFC 8259 §7 permits.
    public static func appendString(_ utf8: some Sequence<UInt8>, to output: inout [UInt8], escapesLineSeparators: Bool = true) {
        output.append(Byte.quote)
        appendEscaped(utf8, to: &output, escapesLineSeparators)
        output.append(Byte.quote)
    }

    /// Appends an escaped string without quotes, so that a string can be written in pieces. No piece may end inside a character.
    public static func appendEscaped(_ utf8: some Sequence<UInt8>, to output: inout [UInt8]) {
        appendEscaped(utf8, to: &output, true)
    }

    private static func appendEscaped(_ utf8: some Sequence<UInt8>, to output: inout [UInt8], _ escapesLineSeparators: Bool) {
        let inPlace: Void? = utf8.withContiguousStorageIfAvailable { escape($0, to: &output, escapesLineSeparators) }
        if inPlace == nil { Array(utf8).withUnsafeBufferPointer { escape($0, to: &output, escapesLineSeparators) } }
    }

    /// The same for a buffer. Not generic, so that calls from other modules need no specialisation.
    public static func appendEscaped(_ utf8: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
        escape(utf8, to: &output, true)
    }

    /// Appends an integer in decimal digits.
    public static func appendDecimal(_ value: some FixedWidthInteger, into output: inout [UInt8]) {
        // Calls from other modules are not specialised: one conversion leads to code that is not generic.
        guard let value = Int64(exactly: value) else { return output.append(contentsOf: String(value).utf8) }
        appendDecimal(value, into: &output)
    }

    /// The same for `Int`. Not generic, and without an allocation.
    public static func appendDecimal(_ value: Int, into output: inout [UInt8]) {
        appendDecimal(Int64(value), into: &output)
    }

    private static func appendDecimal(_ value: Int64, into output: inout [UInt8]) {
        if value < 0 { output.append(Byte.minus) }
        // 2⁶³ has nineteen digits.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 19) { digits in
            var first = digits.endIndex
            var rest = value.magnitude
            // SAFETY: digits are written from the end, at most nineteen of them; only written bytes are read.
            repeat {
                first -= 1
                digits.initializeElement(at: first, to: Byte.zero &+ UInt8(truncatingIfNeeded: rest % 10))
                rest /= 10
            } while rest != 0
            output.append(contentsOf: UnsafeBufferPointer(rebasing: digits[first...]))
        }
    }

    /// Copies each run that needs no escape at once.
    // SAFETY: `index` is compared with `text.count` in each iteration and advances by lengths that `UTF8Scan` has checked.
    private static func escape(_ text: UnsafeBufferPointer<UInt8>, to output: inout [UInt8], _ escapesLineSeparators: Bool) {
        var runStart = 0
        var index = 0
        func flush() {
            if runStart < index { output.append(contentsOf: UnsafeBufferPointer(rebasing: text[runStart..<index])) }
        }
        while index < text.count {
            let byte = text[index]
            if byte < 0x80 {
                guard byte < 0x20 || byte == Byte.quote || byte == Byte.backslash else {
                    index += 1
                    continue
                }
                flush()
                appendEscape(of: byte, to: &output)
                index += 1
                runStart = index
                continue
            }
            switch UTF8Scan.step(text, at: index) {
            case .scalar(let length):
                guard escapesLineSeparators, let separator = lineSeparator(text, at: index, length: length) else {
                    index += length
                    continue
                }
                flush()
                appendUnicodeEscape(separator, to: &output)
                index += length
            case .malformed(let length):
                flush()
                output.append(contentsOf: Byte.replacementCharacter)
                index += length
            }
            runStart = index
        }
        flush()
    }

    private static func lineSeparator(_ text: UnsafeBufferPointer<UInt8>, at index: Int, length: Int) -> UInt16? {
        switch length {
        case 2 where text[index] == 0xC2 && text[index + 1] == 0x85: 0x0085
        case 3 where text[index] == 0xE2 && text[index + 1] == 0x80 && text[index + 2] == 0xA8: 0x2028
        case 3 where text[index] == 0xE2 && text[index + 1] == 0x80 && text[index + 2] == 0xA9: 0x2029
        default: nil
        }
    }

    private static func appendEscape(of byte: UInt8, to output: inout [UInt8]) {
        let short: UInt8? =
            switch byte {
            case Byte.quote, Byte.backslash: byte
            case 0x08: UInt8(ascii: "b")
            case Byte.tab: UInt8(ascii: "t")
            case Byte.lineFeed: UInt8(ascii: "n")
            case 0x0C: UInt8(ascii: "f")
            case Byte.carriageReturn: UInt8(ascii: "r")
            default: nil
            }
        guard let short else { return appendUnicodeEscape(UInt16(byte), to: &output) }
        output.append(Byte.backslash)
        output.append(short)
    }

    private static func appendUnicodeEscape(_ unit: UInt16, to output: inout [UInt8]) {
        output.append(Byte.backslash)
        output.append(UInt8(ascii: "u"))
        for shift in [12, 8, 4, 0] as [UInt16] {
            output.append(Byte.hexDigit(UInt8(truncatingIfNeeded: unit >> shift & 0xF)))
        }
    }
}
