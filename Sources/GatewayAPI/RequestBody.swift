import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The fields of a JSON request body, read by their snake_case names. The camelCase spelling of each name is accepted too.
///
/// `null` counts as absent. Fields that are not read are ignored, even if they contain invalid text.
public struct RequestBody: Sendable {
    private let members: [JSONMember]
    private let findings: [JSONError]

    /// Parses a body; throws `notJSON` or `notAnObject`.
    public init(parsing bytes: [UInt8]) throws(RequestBodyError) {
        let document: JSONDocument
        do throws(JSONError) {
            // A byte order mark is no JSON, and may be ignored (RFC 8259 §8.1).
            document = try JSONDocument(parsing: bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes)
        } catch {
            throw .notJSON(error)
        }
        guard let members = document.value.members else { throw .notAnObject }
        self.members = members
        findings = document.findings
    }

    /// Reads a value of any type; nil when absent or `null`. Throws if it contains a lone surrogate, U+0000 or a repeated name.
    public func value(_ name: String) throws(RequestBodyError) -> JSONValue? {
        let camelCase = Self.camelCase(name)
        for spelling in [name, camelCase] {
            if let finding = findings.first(where: { Self.isInside($0.path, spelling) }) { throw .field(name, finding.problem) }
        }
        let values = members.filter { ($0.key == name || $0.key == camelCase) && $0.value != .null }.map(\.value)
        guard let first = values.first else { return nil }
        guard values.allSatisfy({ $0 == first }) else { throw .field(name, .contradictory) }
        return first
    }

    /// Whether the body has the field, also with the value `null`. A merge patch (RFC 7396) removes a field that is `null` and keeps one
    /// that is absent.
    public func contains(_ name: String) -> Bool {
        members.contains { $0.key == name || $0.key == Self.camelCase(name) }
    }

    /// Reads a string of at most `limit` Unicode scalars.
    public func string(_ name: String, limit: Int = .max) throws(RequestBodyError) -> String? {
        guard let text = try read(name, .string, { $0.string }) else { return nil }
        // A text has at most as many scalars as bytes, so most texts need no counting.
        if text.utf8.count > limit, text.unicodeScalars.count > limit { throw .field(name, .tooLong(limit: limit)) }
        return text
    }

    /// Reads a required string of at most `limit` Unicode scalars that is not only white space.
    public func requiredText(_ name: String, limit: Int) throws(RequestBodyError) -> String {
        guard let text = try string(name, limit: limit) else { throw .field(name, .missing) }
        if text.unicodeScalars.allSatisfy(\.properties.isWhitespace) { throw .field(name, .empty) }
        return text
    }

    /// Reads a UUID in its canonical form, in either case.
    public func id(_ name: String) throws(RequestBodyError) -> UUID? {
        guard let text = try string(name) else { return nil }
        guard let id = UUID(wire: text) else { throw .field(name, .malformedID) }
        return id
    }

    /// Reads a whole number.
    public func integer(_ name: String) throws(RequestBodyError) -> Int? {
        try read(name, .number) { $0.integer.flatMap { Int(exactly: $0) } }
    }

    /// Reads `true` or `false`.
    public func bool(_ name: String) throws(RequestBodyError) -> Bool? {
        try read(name, .bool) { $0.bool }
    }

    private func read<Field>(_ name: String, _ kind: JSONKind, _ extract: (JSONValue) -> Field?) throws(RequestBodyError) -> Field? {
        guard let value = try value(name) else { return nil }
        guard let field = extract(value) else { throw .field(name, .wrongType(expected: kind)) }
        return field
    }

    /// `conversation_id` → `conversationId`, the spelling of Swift's `JSONEncoder` and of JavaScript.
    static func camelCase(_ name: String) -> String {
        var text: [UInt8] = []
        var startsWord = false
        for byte in name.utf8 {
            if byte == UInt8(ascii: "_") {
                startsWord = true
            } else {
                let isSmall = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                text.append(startsWord && isSmall ? byte & ~0x20 : byte)
                startsWord = false
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func isInside(_ path: String, _ name: String) -> Bool {
        guard path.hasPrefix(name) else { return false }
        let next = path.dropFirst(name.count).first
        return next == nil || next == "." || next == "["
    }
}

extension JSONError {
    fileprivate var problem: RequestBodyError.Problem {
        switch kind {
        case .nulCharacter: .nulCharacter
        case .duplicateKey: .repeated
        default: .loneSurrogate
        }
    }
}
