/// A parsed JSON text and its findings: content that is valid JSON but cannot be stored.
///
/// Malformed text throws. Lone surrogates, U+0000, repeated names and numbers beyond a double are collected as findings, so that a server
/// can distinguish "not JSON" (400) from "this field cannot be accepted" (422), and can disregard findings in fields that it ignores.
public struct JSONDocument: Sendable, Equatable {
    /// The tree. A lone surrogate is replaced by U+FFFD, U+0000 is kept, repeated members are all kept, and a number that is too large
    /// becomes the largest finite `Double`.
    public let value: JSONValue
    /// Each `loneSurrogate`, `nulCharacter`, `duplicateKey` and `numberOutOfRange`, with its path, in the order of the text. The offset
    /// is that of the byte after the name or string.
    public let findings: [JSONError]

    /// Parses a whole text. Anything but white space after the value is an error; a byte order mark before it is ignored (RFC 8259 §8.1), and not
    /// counted by offsets.
    /// - Parameter maximumDepth: the most containers inside each other, at most `JSONCursor.maximumDepth`.
    public init(parsing bytes: [UInt8], maximumDepth: Int = JSONCursor.maximumDepth) throws(JSONError) {
        let text = bytes.starts(with: Byte.byteOrderMark) ? Array(bytes.dropFirst(Byte.byteOrderMark.count)) : bytes
        var parser = DocumentParser(cursor: JSONCursor(text, strings: .repairing), maximumDepth: maximumDepth)
        value = try parser.parse()
        findings = parser.findings
    }
}

extension JSONValue {
    /// Parses a whole text and throws the first finding of `JSONDocument` as an error.
    public init(parsing bytes: [UInt8]) throws(JSONError) {
        let document = try JSONDocument(parsing: bytes)
        if let first = document.findings.first { throw first }
        self = document.value
    }
}

private struct DocumentParser {
    var cursor: JSONCursor
    var findings: [JSONError] = []
    private let maximumDepth: Int
    /// Has a step for each open container.
    private var path: [PathStep] = []
    /// The text of the first steps of `path`, in UTF-8, kept from one finding to the next: a text can hold thousands of findings at the
    /// same depth. It may end with the text of steps that are left already.
    private var renderedPath: [UInt8] = []
    /// For each step of `path` that is in `renderedPath`, where its text ends.
    private var renderedEnds: [Int] = []

    init(cursor: JSONCursor, maximumDepth: Int) {
        self.cursor = cursor
        self.maximumDepth = maximumDepth
    }

    mutating func parse() throws(JSONError) -> JSONValue {
        do throws(JSONError) {
            let value = try parseValue()
            try cursor.finish()
            return value
        } catch {
            throw error.at(path: pathText())
        }
    }

    // The recursion is bounded by `maximumDepth`.
    private mutating func parseValue() throws(JSONError) -> JSONValue {
        switch try cursor.peek() {
        case .object: return .object(try parseMembers())
        case .array: return .array(try parseElements())
        case .string:
            let text = try cursor.readString()
            try noteFlaws()
            return .string(text)
        case .number:
            let number = try cursor.scanNumber()
            if number.isInteger, let value = cursor.integer(number.range) { return .integer(Int64(value)) }
            if let value = try? cursor.double(number.range) { return .number(value) }
            note(.numberOutOfRange)
            return .number(cursor.isNegative(number.range) ? -.greatestFiniteMagnitude : .greatestFiniteMagnitude)
        case .bool: return .bool(try cursor.readBool())
        case .null:
            _ = try cursor.skipNull()
            return .null
        }
    }

    private mutating func parseMembers() throws(JSONError) -> [JSONMember] {
        var members: [JSONMember] = []
        var names = MemberNames()
        try checkDepth()
        try cursor.beginObject()
        while let key = try cursor.nextKey() {
            path.append(.member(key.utf8))
            try noteFlaws()
            if !names.insert(key.utf8) { note(.duplicateKey) }
            members.append(JSONMember(key.string, try parseValue()))
            leaveStep()
        }
        return members
    }

    private mutating func parseElements() throws(JSONError) -> [JSONValue] {
        var elements: [JSONValue] = []
        try checkDepth()
        try cursor.beginArray()
        while try cursor.nextElement() {
            path.append(.element(elements.count))
            elements.append(try parseValue())
            leaveStep()
        }
        return elements
    }

    /// Before a container: throws when it would be one too many.
    private func checkDepth() throws(JSONError) {
        guard path.count < maximumDepth else { throw cursor.error(.tooDeep) }
    }

    /// Throws for malformed UTF-8, which is not JSON (RFC 8259 §8.1); records the other flaws. The cursor repairs both.
    private mutating func noteFlaws() throws(JSONError) {
        let flaws = cursor.stringFlaws
        if flaws.contains(.malformedUTF8) { throw cursor.error(.malformedUTF8) }
        if flaws.contains(.loneSurrogate) { note(.loneSurrogate) }
        if flaws.contains(.nulCharacter) { note(.nulCharacter) }
    }

    private mutating func note(_ kind: JSONError.Kind) {
        let path = pathText()
        findings.append(JSONError(kind, offset: cursor.offset, path: path))
    }

    private mutating func leaveStep() {
        path.removeLast()
        if renderedEnds.count > path.count { renderedEnds.removeLast() }
    }

    /// The path as text, truncated, because a text can hold thousands of findings below one very long name. Renders the steps that were
    /// entered since the last call.
    private mutating func pathText() -> String {
        renderedPath.removeLast(renderedPath.count - (renderedEnds.last ?? 0))
        for step in path.dropFirst(renderedEnds.count) {
            guard renderedPath.count <= longestPath else { break }
            switch step {
            case .member(let name):
                if !renderedPath.isEmpty { renderedPath.append(UInt8(ascii: ".")) }
                renderedPath += name.prefix(longestPath)
            case .element(let index): renderedPath += "[\(index)]".utf8
            }
            renderedEnds.append(renderedPath.count)
        }
        return String(decoding: renderedPath, as: UTF8.self) + (renderedPath.count > longestPath ? "…" : "")
    }
}

/// The names of one object so far. Compares bytes, because Swift's string equality treats two normal forms of a name as equal.
private struct MemberNames {
    /// Up to this many names a linear search is faster than hashing.
    private static let few = 16
    private var list: [ArraySlice<UInt8>] = []
    private var set: Set<ArraySlice<UInt8>> = []

    /// Returns false when the name is already present.
    mutating func insert(_ name: ArraySlice<UInt8>) -> Bool {
        guard list.count == Self.few else {
            guard !list.contains(name) else { return false }
            list.append(name)
            return true
        }
        if set.isEmpty { set.formUnion(list) }
        return set.insert(name).inserted
    }
}

/// The length in bytes at which a path is truncated, far above any path of a valid request.
private let longestPath = 256

private enum PathStep {
    case member(ArraySlice<UInt8>)
    case element(Int)
}
