import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a version of a document is known by: an element of the lists of documents and of versions.
public struct DocumentVersionResource: Sendable, Equatable {
    public var id: String
    /// 1 is the shipped file.
    public var version: Int
    /// nil for the shipped file.
    public var author: UUID?
    public var reason: String?
    /// The version that a rollback restored.
    public var restores: Int?
    /// nil for the shipped file.
    public var createdAt: Timestamp?

    public init(id: String, version: Int, author: UUID?, reason: String?, restores: Int?, createdAt: Timestamp?) {
        self.id = id
        self.version = version
        self.author = author
        self.reason = reason
        self.restores = restores
        self.createdAt = createdAt
    }

    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("version", version)
        writer.member("author", author)
        writer.member("reason", reason)
        writer.member("restores", restores)
        writer.member("created_at", createdAt)
    }
}

extension DocumentVersionResource: WireResource {
    public static let schemaName = "DocumentVersion"
    public static let fields: [Schema.Field] = [
        .init("id", .text), .init("version", .integer), .init("author", .id.nullable), .init("reason", .text.nullable),
        .init("restores", .integer.nullable), .init("created_at", .time.nullable),
    ]

    public func write(to writer: inout JSONWriter) { writer.object { writeMembers(to: &$0) } }
}

/// A version of a document with its content.
public struct DocumentResource: Sendable, Equatable {
    public var version: DocumentVersionResource
    public var body: JSONValue

    public init(version: DocumentVersionResource, body: JSONValue) {
        self.version = version
        self.body = body
    }
}

extension DocumentResource: WireResource {
    public static let schemaName = "Document"
    public static let fields = DocumentVersionResource.fields + [.init("body", .any.described("the document, a JSON object"))]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            version.writeMembers(to: &writer)
            writer.key(literal: "body")
            body.write(to: &writer)
        }
    }
}

/// The difference of two versions as a JSON Patch (RFC 6902).
public struct DocumentDifferenceResource: Sendable, Equatable {
    public var from: Int
    /// nil for a body that is not saved.
    public var to: Int?
    public var operations: [JSONValue]
    /// What a dry run of a domain configuration has found; nil for other documents.
    public var decisions: RoutingReplayResource?

    public init(from: Int, to: Int?, operations: [JSONValue], decisions: RoutingReplayResource? = nil) {
        self.from = from
        self.to = to
        self.operations = operations
        self.decisions = decisions
    }
}

extension DocumentDifferenceResource: WireResource {
    public static let schemaName = "DocumentDifference"
    public static let fields: [Schema.Field] = [
        .init("from", .integer), .init("to", .integer.nullable),
        .init(
            "operations",
            .array(
                of: .object([
                    .init("op", .values(["add", "remove", "replace"])), .init("path", .text), .init("value", .any, required: false),
                ]))),
        .optional("decisions", RoutingReplayResource.schema),
    ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("from", from)
            writer.member("to", to)
            writer.key(literal: "operations")
            writer.array { writer in for operation in operations { operation.write(to: &writer) } }
            if let decisions {
                writer.key(literal: "decisions")
                decisions.write(to: &writer)
            }
        }
    }
}

extension DocumentDifferenceResource: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(from: try json.required("from"), to: try json.optional("to"), operations: try json.value("operations")?.elements ?? [])
    }
}
