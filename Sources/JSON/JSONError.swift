/// Why bytes are not valid JSON, or not the JSON that the caller requested.
public struct JSONError: Error, Sendable, Hashable {
    /// What is wrong.
    public enum Kind: Sendable, Hashable {
        /// The text ends inside a value.
        case unexpectedEnd
        /// A byte that the grammar does not allow here.
        case unexpectedByte(UInt8)
        /// Something other than white space follows the value.
        case trailingBytes
        /// More nested containers than `JSONCursor.maximumDepth`, or than the reader permits.
        case tooDeep
        /// The caller requested a value of this kind, but the next one is of another kind. The cursor has not moved and can skip it.
        case expected(JSONKind)
        /// The caller requested a value where there is none.
        case noValue
        /// A number outside the range of the requested type, or not whole.
        case numberOutOfRange
        /// A backslash that does not start a valid escape.
        case invalidEscape
        /// A raw U+0000–U+001F inside a string.
        case controlCharacter
        /// A string is not UTF-8.
        case malformedUTF8
        /// Half of a surrogate pair, such as a lone `\ud800`: valid in JSON's grammar, but not valid Unicode text.
        case loneSurrogate
        /// U+0000 in a string, which PostgreSQL cannot store.
        case nulCharacter
        /// A name that occurs twice in one object.
        case duplicateKey
    }

    /// What is wrong.
    public let kind: Kind
    /// The position in bytes from the start of the text.
    public let offset: Int
    /// The path of the affected value, such as `details.items[3].name`; empty at the top level and in errors that `JSONCursor` throws.
    public let path: String

    public init(_ kind: Kind, offset: Int, path: String = "") {
        self.kind = kind
        self.offset = offset
        self.path = path
    }

    func at(path: String) -> JSONError { JSONError(kind, offset: offset, path: path) }
}

/// The six kinds of JSON values.
public enum JSONKind: Sendable, Hashable {
    /// `{…}`
    case object
    /// `[…]`
    case array
    /// `"…"`
    case string
    /// `1`, `-0.5e3`
    case number
    /// `true`, `false`
    case bool
    /// `null`
    case null
}
