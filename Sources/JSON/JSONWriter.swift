/// Writes JSON (RFC 8259) on one line into a byte buffer and inserts the commas.
///
/// The output is always well-formed UTF-8: malformed input bytes become U+FFFD. The writer does not check that the calls make a complete
/// value (a key for every member, an end for every begin); that is a property of the calling code.
public struct JSONWriter: Sendable {
    /// The bytes written so far, after those given to `init`.
    public private(set) var bytes: [UInt8]
    /// Whether the next key or value follows another one in its container.
    private var needsComma = false

    /// A writer that appends to `bytes`.
    public init(appendingTo bytes: consuming [UInt8] = []) {
        self.bytes = bytes
    }

    /// Appends to `output` in place, without copying the buffer.
    public static func append<Failure: Error>(
        to output: inout [UInt8], _ body: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        var writer = JSONWriter()
        swap(&writer.bytes, &output)
        defer { swap(&writer.bytes, &output) }
        try body(&writer)
    }

    /// Returns the bytes of the value that `body` writes.
    public static func encode<Failure: Error>(_ body: (inout JSONWriter) throws(Failure) -> Void) throws(Failure) -> [UInt8] {
        var writer = JSONWriter()
        try body(&writer)
        return writer.bytes
    }
}

extension JSONWriter {
    /// The name of a member as it is written, with its colon.
    public struct EncodedKey: Sendable {
        fileprivate let bytes: [UInt8]

        public init(_ name: String) {
            var bytes: [UInt8] = []
            JSONWriter.appendString(name.utf8, to: &bytes)
            self.bytes = bytes + [Byte.colon]
        }
    }
}

// MARK: - Structure

extension JSONWriter {
    /// `{`
    public mutating func beginObject() {
        open(Byte.openBrace)
    }

    /// `}`
    public mutating func endObject() {
        close(Byte.closeBrace)
    }

    /// `[`
    public mutating func beginArray() {
        open(Byte.openBracket)
    }

    /// `]`
    public mutating func endArray() {
        close(Byte.closeBracket)
    }

    /// Writes an object whose members `body` writes.
    public mutating func object<Failure: Error>(_ body: (inout JSONWriter) throws(Failure) -> Void) throws(Failure) {
        beginObject()
        try body(&self)
        endObject()
    }

    /// Writes an array whose elements `body` writes.
    public mutating func array<Failure: Error>(_ body: (inout JSONWriter) throws(Failure) -> Void) throws(Failure) {
        beginArray()
        try body(&self)
        endArray()
    }

    /// Writes the name of a member. Write its value next.
    public mutating func key(_ name: String) {
        startItem()
        Self.appendString(name.utf8, to: &bytes)
        bytes.append(Byte.colon)
        needsComma = false
    }

    /// The same with a name that was encoded before, for many objects with the same members.
    public mutating func key(_ name: EncodedKey) {
        startItem()
        bytes.append(contentsOf: name.bytes)
        needsComma = false
    }

    /// Writes a literal name, which must be ASCII without characters that need an escape. Nothing is scanned.
    public mutating func key(literal name: StaticString) {
        startItem()
        bytes.append(Byte.quote)
        append(name)
        bytes.append(Byte.quote)
        bytes.append(Byte.colon)
        needsComma = false
    }

    private mutating func open(_ bracket: UInt8) {
        startItem()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func startItem() {
        if needsComma { bytes.append(Byte.comma) }
        needsComma = true
    }

    private mutating func append(_ literal: StaticString) {
        bytes.append(contentsOf: literal.utf8)
    }
}

// MARK: - Values

extension JSONWriter {
    /// Writes a string.
    public mutating func string(_ text: String) {
        string(utf8: text.utf8)
    }

    /// Writes a string from its UTF-8 bytes. Malformed sequences become U+FFFD.
    public mutating func string(utf8 text: some Sequence<UInt8>) {
        startItem()
        Self.appendString(text, to: &bytes)
    }

    /// Writes an integer.
    public mutating func integer(_ value: some FixedWidthInteger) {
        startItem()
        Self.appendDecimal(value, into: &bytes)
    }

    /// Writes a number in the shortest form that parses to the same value. Infinity and NaN, which JSON cannot represent, become `null`.
    public mutating func number(_ value: Double) {
        guard value.isFinite else { return null() }
        startItem()
        bytes.append(contentsOf: value.description.utf8)
    }

    /// `true` or `false`.
    public mutating func bool(_ value: Bool) {
        startItem()
        append(value ? "true" : "false")
    }

    /// `null`.
    public mutating func null() {
        startItem()
        append("null")
    }

    /// Writes bytes unchanged. They must be one valid JSON value on one line.
    public mutating func raw(_ json: some Sequence<UInt8>) {
        startItem()
        bytes.append(contentsOf: json)
    }
}

// MARK: - Members: a literal key with its value, nil as `null`

extension JSONWriter {
    /// `"name":"value"`, or `null`.
    public mutating func member(_ name: StaticString, _ value: String?) {
        key(literal: name)
        if let value { string(value) } else { null() }
    }

    /// `"name":1`, or `null`.
    public mutating func member(_ name: StaticString, _ value: (some FixedWidthInteger)?) {
        key(literal: name)
        if let value { integer(value) } else { null() }
    }

    /// `"name":true`, or `null`.
    public mutating func member(_ name: StaticString, _ value: Bool?) {
        key(literal: name)
        if let value { bool(value) } else { null() }
    }

    /// `"name":0.5`, or `null`.
    public mutating func member(_ name: StaticString, _ value: Double?) {
        key(literal: name)
        if let value { number(value) } else { null() }
    }
}
