/// A forward scanner over JSON bytes (RFC 8259): no tree, no `String` unless asked for, no trap on any input.
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
/// A loop over members or elements must run to its end before its container's next one is asked for. What is skipped is
/// checked as strictly as what is read.
public struct JSONCursor: Sendable {
    /// How strings that are no text are treated.
    public enum StringRule: Sendable {
        /// Lone surrogates in strings that are read, and malformed UTF-8 anywhere, are errors.
        case strict
        /// Both become U+FFFD: for providers, which may split a surrogate pair between two chunks.
        case repairing
    }

    /// How many containers may be open at once.
    public static let maximumDepth = 128

    let bytes: ArraySlice<UInt8>
    let rule: StringRule
    var position: Int
    /// Open containers.
    private var depth = 0
    /// Nothing has been read in the innermost container.
    private var isFirst = false
    /// The cursor stands before a value that has not been read.
    private var hasValue = true
    /// What the last string read or skipped contained.
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
    /// The kind of the value that is next, which stays unread.
    public mutating func peek() throws(JSONError) -> JSONKind {
        let byte = try valueStart()
        guard let kind = JSONKind(startingWith: byte) else { throw error(.unexpectedByte(byte)) }
        return kind
    }

    /// Enters an object: `nextKey` follows.
    public mutating func beginObject() throws(JSONError) {
        try begin(Byte.openBrace, .object)
    }

    /// Enters an array: `nextElement` follows.
    public mutating func beginArray() throws(JSONError) {
        try begin(Byte.openBracket, .array)
    }

    /// The name of the next member, the cursor standing before its value; nil leaves the object. A value that the caller
    /// has not read is skipped first.
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

    /// Moves before the next element; false leaves the array. An element that the caller has not read is skipped first.
    public mutating func nextElement() throws(JSONError) -> Bool {
        hasValue = try advance(closing: Byte.closeBracket)
        return hasValue
    }

    /// Checks that only white space is left behind the value.
    public mutating func finish() throws(JSONError) {
        if hasValue { try skipValue() }
        skipWhitespace()
        guard depth == 0, position == bytes.endIndex else { throw error(.trailingBytes) }
    }

    /// Skips the next value, whatever it is.
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

    /// The bytes of the next value as they stand, checked.
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

    /// Steps over what is unread and over a comma; false when the container was closed instead.
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

    /// The error for a value of another kind than the one asked for.
    func mismatch(_ expected: JSONKind) -> JSONError {
        guard position < bytes.endIndex else { return error(.unexpectedEnd) }
        let isValue = JSONKind(startingWith: bytes[position]) != nil
        return error(isValue ? .expected(expected) : .unexpectedByte(bytes[position]))
    }

    func currentByte() throws(JSONError) -> UInt8 {
        guard position < bytes.endIndex else { throw error(.unexpectedEnd) }
        return bytes[position]
    }

    /// The first byte of the value that is next.
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
