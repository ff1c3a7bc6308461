#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A type with one representation in JSON.
public protocol JSONReadable {
    /// Reads the value, or reports what is wrong with it.
    init(_ json: JSONReader) throws(JSONFinding)
}

extension String: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) { self = try json.scalar(.string, "", \.string) }
}

extension Int: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        _ = json.declares(.integer(nil))
        self = try json.scalar(.number, 0) { $0.integer.flatMap { Int(exactly: $0) } }
    }
}

extension Int64: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        _ = json.declares(.integer(nil))
        self = try json.scalar(.number, 0, \.integer)
    }
}

extension Double: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) { self = try json.scalar(.number, 0, \.number) }
}

extension Bool: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) { self = try json.scalar(.bool, false, \.bool) }
}

extension UUID: JSONReadable {
    /// The canonical form, in either case.
    public init(_ json: JSONReader) throws(JSONFinding) {
        self = try JSONField.parsed("a UUID", placeholder: UUID(0), declared: .uuid) { UUID(canonical: $0) }.read(json)
    }
}

extension Timestamp: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        let epoch = Timestamp(millisecondsSince1970: 0)
        let field = JSONField.parsed("a time stamp (RFC 3339)", placeholder: epoch, declared: .time) { Timestamp(rfc3339: $0) }
        self = try field.read(json)
    }
}

extension Array: JSONReadable where Element: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self = try json.elements().map { (element) throws(JSONFinding) in try Element(element) }
    }
}
