/// Why bytes are not the JSON that was asked for.
public struct JSONError: Error, Sendable, Equatable {
    /// What is wrong.
    public enum Kind: Sendable, Equatable {
        /// The text ends inside a value.
        case unexpectedEnd
        /// A byte that cannot stand here.
        case unexpectedByte(UInt8)
        /// Something follows the value.
        case trailingBytes
        /// More than `JSONCursor.maximumDepth` containers inside each other.
        case tooDeep
        /// A value of this kind was asked for, but another stands here. The cursor has not moved: it may be skipped.
        case expected(JSONKind)
        /// The caller asked for a value where the cursor stands on none.
        case noValue
        /// A number outside the range of the type asked for, or not whole.
        case numberOutOfRange
        /// A backslash followed by something that is no escape.
        case invalidEscape
        /// A raw U+0000–U+001F inside a string.
        case controlCharacter
        /// A string is not UTF-8.
        case malformedUTF8
        /// `\ud800` without its other half: valid by JSON's grammar, but no text.
        case loneSurrogate
        /// U+0000 in a string: text that PostgreSQL cannot keep.
        case nulCharacter
        /// A name that occurs twice in one object.
        case duplicateKey
    }

    /// What is wrong.
    public let kind: Kind
    /// Where, in bytes from the start of the text.
    public let offset: Int
    /// The value it is about, as `details.items[3].name`; empty at the top level, and always when a bare cursor throws.
    public let path: String

    /// An error from its parts.
    public init(_ kind: Kind, offset: Int, path: String = "") {
        self.kind = kind
        self.offset = offset
        self.path = path
    }

    func at(path: String) -> JSONError { JSONError(kind, offset: offset, path: path) }
}

/// The six kinds of JSON values.
public enum JSONKind: Sendable, Equatable {
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
