/// A forward parser over JSON bytes (RFC 8259). It builds no tree, makes a `String` only on request, and never traps on malformed input.
///
/// ```swift
/// var cursor = JSONCursor(event.data)
/// try cursor.beginObject()
/// while let key = try cursor.nextKey() {
///     switch key {
///     case "content": try cursor.readString(into: &text)
///     case "usage": if try !cursor.skipNull() { usage = try readUsage(&cursor) }
///     default: break  // a value that was not read is skipped by the next call
///     }
/// }
/// try cursor.finish()
/// ```
/// A loop over members or elements must run to its end before the next one of the enclosing container is requested. Skipped values
/// are validated as strictly as values that are read.
public struct JSONCursor: Sendable {
    /// How strings that are not valid Unicode text are treated.
    public enum StringRule: Sendable {
        /// Lone surrogates in a string that is read, and malformed UTF-8 anywhere, are errors.
        case strict
        /// Both become U+FFFD.
        case repairing
        /// Malformed UTF-8 becomes U+FFFD. A lone surrogate becomes three bytes in the form of UTF-8 (WTF-8), which are no valid text: for strings whose reader
        /// puts them together, because a pair may be split between two of them.
        case keepingSurrogates
    }

    /// The most containers inside each other; deeper input is an error, which bounds the stack of recursive readers.
    public static let maximumDepth = 128

    let bytes: ArraySlice<UInt8>
    let rule: StringRule
    var position: Int
    /// The number of open containers.
    private var depth = 0
    /// Whether nothing has been read in the innermost container.
    private var isFirst = false
    /// Whether the cursor is before a value that has not been read.
    private var hasValue = true
    /// Flaws of the last string that was read or skipped.
    private(set) var stringFlaws: StringFlaws = []

    /// A cursor before the one value of `bytes`.
    public init(_ bytes: ArraySlice<UInt8>, strings rule: StringRule = .strict) {
        self.bytes = bytes
        self.rule = rule
        position = bytes.startIndex
    }

    /// A cursor before the one value of `bytes`.
    public init(_ bytes: [UInt8], strings rule: StringRule = .strict) {
        self.init(bytes[...], strings: rule)
    }

    /// The number of bytes consumed.
    public var offset: Int { position - bytes.startIndex }
}

// MARK: - Structure

extension JSONCursor {
    /// The kind of the next value, without reading it.
    public mutating func peek() throws(JSONError) -> JSONKind {
        let byte = try valueStart()
        guard let kind = JSONKind(startingWith: byte) else { throw error(.unexpectedByte(byte)) }
        return kind
    }

    /// Enters an object. Call `nextKey` next.
    public mutating func beginObject() throws(JSONError) {
        try begin(Byte.openBrace, .object)
    }

    /// Enters an array. Call `nextElement` next.
    public mutating func beginArray() throws(JSONError) {
        try begin(Byte.openBracket, .array)
    }

    /// Reads the name of the next member and stops before its value; returns nil at the end of the object, which it leaves. Skips the
    /// previous value if the caller has not read it.
    public mutating func nextKey() throws(JSONError) -> JSONKey? {
        guard try advance(closing: Byte.closeBrace) else { return nil }
        let key = try readKey()
        skipWhitespace()
        let byte = try currentByte()
        guard byte == Byte.colon else { throw error(.unexpectedByte(byte)) }
        position += 1
        hasValue = true
        return key
    }

    /// Moves before the next element; returns false at the end of the array, which it leaves. Skips the previous element if the caller
    /// has not read it.
    public mutating func nextElement() throws(JSONError) -> Bool {
        hasValue = try advance(closing: Byte.closeBracket)
        return hasValue
    }

    /// Checks that only white space follows the value.
    public mutating func finish() throws(JSONError) {
        if hasValue { try skipValue() }
        skipWhitespace()
        guard depth == 0, position == bytes.endIndex else { throw error(.trailingBytes) }
    }

    /// Skips the next value of any kind.
    public mutating func skipValue() throws(JSONError) {
        switch try peek() {
        case .object:
            try beginObject()
            while try nextKey() != nil {}
        case .array:
            try beginArray()
            while try nextElement() {}
        case .string: try skipString()
        case .number: _ = try scanNumber()
        case .bool: _ = try readBool()
        case .null: _ = try skipNull()
        }
    }

    /// Reads the next value as raw bytes and validates it.
    public mutating func readRaw() throws(JSONError) -> ArraySlice<UInt8> {
        _ = try valueStart()
        let start = position
        try skipValue()
        return bytes[start..<position]
    }

    private mutating func begin(_ bracket: UInt8, _ kind: JSONKind) throws(JSONError) {
        guard try valueStart() == bracket else { throw mismatch(kind) }
        guard depth < Self.maximumDepth else { throw error(.tooDeep) }
        position += 1
        depth += 1
        isFirst = true
        hasValue = false
    }

    /// Skips an unread value and a comma; returns false when the container ends instead.
    private mutating func advance(closing bracket: UInt8) throws(JSONError) -> Bool {
        if hasValue { try skipValue() }
        skipWhitespace()
        let byte = try currentByte()
        if byte == bracket {
            guard depth > 0 else { throw error(.unexpectedByte(byte)) }
            position += 1
            depth -= 1
            isFirst = false
            return false
        }
        if !isFirst {
            guard byte == Byte.comma, depth > 0 else { throw error(.unexpectedByte(byte)) }
            position += 1
            skipWhitespace()
        }
        isFirst = false
        return true
    }
}

// MARK: - Steps shared by the readers

extension JSONCursor {
    func error(_ kind: JSONError.Kind) -> JSONError { JSONError(kind, offset: offset) }

    /// The error for a value of another kind than the expected one.
    func mismatch(_ expected: JSONKind) -> JSONError {
        guard position < bytes.endIndex else { return error(.unexpectedEnd) }
        let isValue = JSONKind(startingWith: bytes[position]) != nil
        return error(isValue ? .expected(expected) : .unexpectedByte(bytes[position]))
    }

    func currentByte() throws(JSONError) -> UInt8 {
        guard position < bytes.endIndex else { throw error(.unexpectedEnd) }
        return bytes[position]
    }

    /// Skips white space and returns the first byte of the next value.
    mutating func valueStart() throws(JSONError) -> UInt8 {
        guard hasValue else { throw error(.noValue) }
        skipWhitespace()
        return try currentByte()
    }

    mutating func endValue(at end: Int) {
        position = end
        hasValue = false
        isFirst = false
    }

    mutating func note(_ flaws: StringFlaws) {
        stringFlaws = flaws
    }

    mutating func skipWhitespace() {
        while position < bytes.endIndex {
            switch bytes[position] {
            case Byte.space, Byte.lineFeed, Byte.carriageReturn, Byte.tab: position += 1
            default: return
            }
        }
    }
}

extension JSONKind {
    fileprivate init?(startingWith byte: UInt8) {
        switch byte {
        case Byte.openBrace: self = .object
        case Byte.openBracket: self = .array
        case Byte.quote: self = .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): self = .bool
        case UInt8(ascii: "n"): self = .null
        case Byte.minus: self = .number
        default:
            guard Byte.isDigit(byte) else { return nil }
            self = .number
        }
    }
}
