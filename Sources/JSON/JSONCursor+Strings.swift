/// Flaws of a string that is valid JSON but not valid text.
struct StringFlaws: OptionSet, Sendable {
    let rawValue: UInt8
    static let loneSurrogate = StringFlaws(rawValue: 1)
    static let malformedUTF8 = StringFlaws(rawValue: 2)
    static let nulCharacter = StringFlaws(rawValue: 4)
}

extension JSONCursor {
    /// Reads a string and appends it, unescaped, as UTF-8. After an error `output` may hold a part of it.
    public mutating func readString(into output: inout [UInt8]) throws(JSONError) {
        guard try valueStart() == Byte.quote else { throw mismatch(.string) }
        try scanString(into: &output, isWanted: true)
        if rule == .strict, stringFlaws.contains(.loneSurrogate) { throw error(.loneSurrogate) }
    }

    /// Reads a string.
    public mutating func readString() throws(JSONError) -> String {
        if try valueStart() == Byte.quote, let end = plainEnd() {
            let text = String(decoding: bytes[position + 1..<end], as: UTF8.self)
            endValue(at: end + 1)
            note([])
            return text
        }
        var output: [UInt8] = []
        try readString(into: &output)
        return String(decoding: output, as: UTF8.self)
    }

    mutating func skipString() throws(JSONError) {
        var nothing: [UInt8] = []
        try scanString(into: &nothing, isWanted: false)
    }

    /// Reads a member's name. It shares the text's storage unless it contains an escape.
    mutating func readKey() throws(JSONError) -> JSONKey {
        let byte = try currentByte()
        guard byte == Byte.quote else { throw error(.unexpectedByte(byte)) }
        if let end = plainEnd() {
            let name = bytes[position + 1..<end]
            position = end + 1
            note([])
            return JSONKey(utf8: name)
        }
        var name: [UInt8] = []
        try scanString(into: &name, isWanted: true)
        return JSONKey(utf8: name[...])
    }

    /// The index of the closing quote if the string at the cursor is ASCII without escapes, as nearly all names are; otherwise nil.
    private func plainEnd() -> Int? {
        var end = position + 1
        while end < bytes.endIndex, bytes[end] != Byte.quote, bytes[end] != Byte.backslash, bytes[end] >= 0x20, bytes[end] < 0x80 {
            end += 1
        }
        return end < bytes.endIndex && bytes[end] == Byte.quote ? end : nil
    }

    /// Scans from the opening quote to the byte after the closing one. Appends to `output` only if `isWanted`.
    private mutating func scanString(into output: inout [UInt8], isWanted: Bool) throws(JSONError) {
        var scanner = StringScanner(
            index: position + 1 - bytes.startIndex, isWanted: isWanted, keepsSurrogates: rule == .keepingSurrogates)
        do throws(JSONError) {
            try bytes.withUnsafeBufferPointer { (text) throws(JSONError) in try scanner.scan(text, into: &output) }
        } catch {
            position = bytes.startIndex + error.offset
            throw error
        }
        if rule == .strict, scanner.flaws.contains(.malformedUTF8) { throw error(.malformedUTF8) }
        endValue(at: bytes.startIndex + scanner.index)
        note(scanner.flaws)
    }
}

/// Unescapes a string in one pass. Appends each run without escapes at once.
// SAFETY: `text` is borrowed for one call of `scan`, and every `text[index]` follows a comparison with `text.count`.
struct StringScanner {
    var index: Int
    let isWanted: Bool
    /// Whether a lone surrogate is appended as three bytes, and not as U+FFFD.
    let keepsSurrogates: Bool
    var flaws: StringFlaws = []

    init(index: Int, isWanted: Bool, keepsSurrogates: Bool = false) {
        self.index = index
        self.isWanted = isWanted
        self.keepsSurrogates = keepsSurrogates
    }

    /// Leaves `index` after the closing quote.
    mutating func scan(_ text: UnsafeBufferPointer<UInt8>, into output: inout [UInt8]) throws(JSONError) {
        var runStart = index
        while index < text.count {
            let byte = text[index]
            if byte == Byte.quote {
                append(text, runStart, to: &output)
                index += 1
                return
            }
            if byte == Byte.backslash {
                append(text, runStart, to: &output)
                index += 1
                try unescape(text, into: &output)
                runStart = index
            } else if byte < 0x20 {
                throw JSONError(.controlCharacter, offset: index)
            } else if byte < 0x80 {
                index += 1
            } else {
                switch UTF8Scan.step(text, at: index) {
                case .scalar(let length): index += length
                case .malformed(let length):
                    flaws.insert(.malformedUTF8)
                    append(text, runStart, to: &output)
                    if isWanted { output.append(contentsOf: Byte.replacementCharacter) }
                    index += length
                    runStart = index
                }
            }
        }
        throw JSONError(.unexpectedEnd, offset: index)
    }

    private func append(_ text: UnsafeBufferPointer<UInt8>, _ runStart: Int, to output: inout [UInt8]) {
        if isWanted, runStart < index { output.append(contentsOf: UnsafeBufferPointer(rebasing: text[runStart..<index])) }
    }

    /// Reads an escape whose backslash was consumed.
    private mutating func unescape(_ text: UnsafeBufferPointer<UInt8>, into output: inout [UInt8]) throws(JSONError) {
        guard index < text.count else { throw JSONError(.unexpectedEnd, offset: index) }
        let byte = text[index]
        let plain: UInt8
        switch byte {
        case Byte.quote, Byte.backslash, UInt8(ascii: "/"): plain = byte
        case UInt8(ascii: "b"): plain = 0x08
        case UInt8(ascii: "f"): plain = 0x0C
        case UInt8(ascii: "n"): plain = Byte.lineFeed
        case UInt8(ascii: "r"): plain = Byte.carriageReturn
        case UInt8(ascii: "t"): plain = Byte.tab
        case UInt8(ascii: "u"):
            index += 1
            return append(try codePoint(text), to: &output)
        default: throw JSONError(.invalidEscape, offset: index)
        }
        index += 1
        if isWanted { output.append(plain) }
    }

    /// The code point of `XXXX`, or of `XXXX\uXXXX` for a surrogate pair; a surrogate when it is alone.
    private mutating func codePoint(_ text: UnsafeBufferPointer<UInt8>) throws(JSONError) -> UInt32 {
        let first = try codeUnit(text)
        guard (0xD800...0xDBFF).contains(first) else { return first }
        guard index + 1 < text.count, text[index] == Byte.backslash, text[index + 1] == UInt8(ascii: "u") else { return first }
        let behindFirst = index
        index += 2
        let second = try codeUnit(text)
        guard (0xDC00...0xDFFF).contains(second) else {
            // Not a low surrogate: the second escape is read again as a character of its own.
            index = behindFirst
            return first
        }
        return 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)
    }

    private mutating func codeUnit(_ text: UnsafeBufferPointer<UInt8>) throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard index < text.count else { throw JSONError(.unexpectedEnd, offset: index) }
            guard let digit = Byte.hexValue(text[index]) else { throw JSONError(.invalidEscape, offset: index) }
            value = value << 4 | digit
            index += 1
        }
        return value
    }

    private mutating func append(_ codePoint: UInt32, to output: inout [UInt8]) {
        let scalar = Unicode.Scalar(codePoint)
        if scalar == nil { flaws.insert(.loneSurrogate) }
        if codePoint == 0 { flaws.insert(.nulCharacter) }
        guard isWanted else { return }
        if let scalar {
            output.append(contentsOf: UTF8.encode(scalar) ?? .init())
        } else if keepsSurrogates {
            for shift in [12, 6, 0] { output.append((shift == 12 ? 0xE0 : 0x80) | UInt8(codePoint >> shift & 0x3F)) }
        } else {
            output.append(contentsOf: Byte.replacementCharacter)
        }
    }
}
