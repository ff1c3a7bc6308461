/// A request method (RFC 9110 §9).
public struct HTTPMethod: Sendable, Hashable, ExpressibleByStringLiteral {
    public let name: String

    public init(stringLiteral name: String) { self.name = name }

    public static let get: HTTPMethod = "GET"
    public static let head: HTTPMethod = "HEAD"
    public static let post: HTTPMethod = "POST"

    /// Whether sending a request twice has the same effect as once (RFC 9110 §9.2.2).
    var isIdempotent: Bool { Self.idempotent.contains(name) }

    private static let idempotent: Set<String> = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]
}

/// One header field.
public struct HTTPHeader: Sendable, Equatable {
    public var name: String
    public var value: String

    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Parses a field line without its line end (RFC 9112 §5); nil when there is a space before the colon, the line continues another one,
    /// or the value has a control character other than a tab. The name becomes lower case.
    public init?(line: UnsafeRawBufferPointer) {
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex, line[..<colon].allSatisfy(Self.isToken) else {
            return nil
        }
        var value = line[line.index(after: colon)...].drop(while: isBlank)
        while let last = value.last, isBlank(last) { value = value.dropLast() }
        guard value.allSatisfy(Self.isAllowedInValue) else { return nil }
        self.init(String(decoding: line[..<colon], as: UTF8.self).lowercased(), String(decoding: value, as: UTF8.self))
    }

    /// The field in libcurl's form; nil when it is malformed.
    var line: String? {
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isToken), value.utf8.allSatisfy(Self.isAllowedInValue) else { return nil }
        // For libcurl "Name:" removes a default field, and "Name;" is a field with an empty value.
        return value.allSatisfy(\.isWhitespace) ? "\(name);" : "\(name): \(value)"
    }

    /// Whether the name is not a token (RFC 9110 §5.6.2), or the value has a control character.
    public var isMalformed: Bool { line == nil }

    private static func isAllowedInValue(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
