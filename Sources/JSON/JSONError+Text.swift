extension JSONError {
    /// The position and the problem, for a person who edits the file: `line 3, column 7: a member is named twice: tiers.free`.
    /// - Parameter bytes: the text that was parsed.
    public func text(in bytes: [UInt8]) -> String {
        let before = bytes.prefix(offset)
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let column = before.reversed().prefix { $0 != UInt8(ascii: "\n") }.count + 1
        return "line \(line), column \(column): \(reason)" + (path.isEmpty ? "" : ": \(path)")
    }

    private var reason: String {
        switch kind {
        case .unexpectedEnd: "the text ends inside a value"
        case .unexpectedByte(let byte):
            (0x21...0x7E).contains(byte) ? "'\(Character(UnicodeScalar(byte)))' cannot stand here" : "byte \(byte) cannot stand here"
        case .trailingBytes: "something follows the value"
        case .tooDeep: "too many containers inside each other"
        case .expected(let kind): "expected \(kind)"
        case .noValue: "expected a value"
        case .numberOutOfRange: "a number is out of range"
        case .invalidEscape: "a backslash is followed by something that is no escape"
        case .controlCharacter: "a control character inside a string"
        case .malformedUTF8: "not UTF-8"
        case .loneSurrogate: "half a surrogate pair"
        case .nulCharacter: "U+0000 in a string"
        case .duplicateKey: "a member is named twice"
        }
    }
}
