import JSON

/// A kind of document that operators edit: what the gateway ships of it, what makes a body valid, and what takes effect when it changes.
public struct DocumentType: Sendable {
    public let kind: DocumentKind
    /// Version 1 of each document, by id; valid. Operators cannot add documents.
    public let shipped: [String: JSONValue]
    /// All findings in the body of a document; none: it is valid.
    public let findings: @Sendable (_ id: String, _ body: JSONValue) -> [JSONFinding]
    /// Makes bodies take effect on this instance: those given, the shipped ones for all others. A body with findings, which an older release
    /// accepted, is replaced by the shipped one, and its findings are returned.
    public let apply: @Sendable (_ bodies: [String: JSONValue]) -> [DocumentFinding]

    /// - Parameters:
    ///   - read: reads one document.
    ///   - swap: gets all documents of the kind.
    public init<Value: Sendable>(
        _ kind: DocumentKind, shipped: [String: JSONValue],
        read: @escaping @Sendable (_ id: String, JSONReader) throws(JSONFinding) -> Value,
        swap: @escaping @Sendable ([String: Value]) -> Void
    ) {
        self.kind = kind
        self.shipped = shipped
        let parse = { @Sendable (id: String, body: JSONValue) in
            JSONReader.collect(body) { (json) throws(JSONFinding) in try read(id, json) }
        }
        findings = { id, body in parse(id, body).findings }
        apply = { bodies in
            var findings: [DocumentFinding] = []
            var values: [String: Value] = [:]
            for (id, body) in shipped {
                let (value, wrong) = parse(id, bodies[id] ?? body)
                findings += wrong.map { DocumentFinding(name: DocumentName(kind: kind, id: id), finding: $0) }
                values[id] = value ?? parse(id, body).value
            }
            swap(values)
            return findings
        }
    }
}

/// What is wrong with a document.
public struct DocumentFinding: Sendable, Equatable, CustomStringConvertible {
    public var name: DocumentName
    public var finding: JSONFinding

    public init(name: DocumentName, finding: JSONFinding) {
        self.name = name
        self.finding = finding
    }

    public var description: String { "\(name): \(finding)" }
}

extension DocumentName: CustomStringConvertible {
    /// The id of the document of a kind that has one.
    public static let onlyID = "default"

    /// As in the audit log: `limits/default`.
    public var description: String { "\(kind.rawValue)/\(id)" }
}
