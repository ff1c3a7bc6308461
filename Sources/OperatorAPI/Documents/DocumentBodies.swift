import CoachCore
import GatewayAPI
import HTTPEdge
import JSON

/// The body of a PUT request: the new document, why, and whether only to validate it.
struct DocumentBody: Sendable {
    var body: JSONValue
    var reason: String?
    var isDryRun: Bool

    static let body = JSONBody(
        "DocumentBody",
        descriptions: [
            "body": "the document, a JSON object", "reason": JSONReader.reasonDescription, "dry_run": JSONReader.dryRunDescription,
        ], DocumentBody.init)

    private init(_ json: JSONReader) throws(JSONFinding) {
        let value = try json.value("body")
        if value == nil { try json.report("body", .missing) }
        body = value ?? .null
        reason = try json.reason
        isDryRun = try json.optional("dry_run") ?? false
    }
}

/// The body of a rollback.
struct DocumentRollback: Sendable {
    var version: Int
    var reason: String?
    var isDryRun: Bool

    static let body = JSONBody(
        "DocumentRollback", descriptions: ["reason": JSONReader.reasonDescription, "dry_run": JSONReader.dryRunDescription],
        DocumentRollback.init)

    private init(_ json: JSONReader) throws(JSONFinding) {
        version = try json.required("version", .integer(1...Int(Int32.max)))
        reason = try json.reason
        isDryRun = try json.optional("dry_run") ?? false
    }
}

extension JSONReader {
    fileprivate static let dryRunDescription = "the same as the query parameter `dry_run`"
    fileprivate static let reasonDescription = "why, for the version and the audit log; recommended"

    /// Why something was changed, for the audit log.
    var reason: String? {
        get throws(JSONFinding) { try optional("reason", .text(0...1000)) }
    }
}

extension DocumentVersionResource {
    init(_ state: DocumentState) {
        self.init(
            id: state.id, version: state.version, author: state.edit?.author.uuid, reason: state.edit?.reason,
            restores: state.edit?.restores, createdAt: state.edit.map { Timestamp($0.createdAt) })
    }
}

extension DocumentResource {
    init(_ state: DocumentState) { self.init(version: DocumentVersionResource(state), body: state.body) }
}

/// Applies a valid document to stored routing decisions, without saving it, and counts the messages that it would route differently.
public typealias DocumentReplay = @Sendable (Caller, _ id: String, _ body: JSONValue) async throws -> RoutingReplay

extension RoutingReplayResource {
    init(_ replay: RoutingReplay) {
        let changes = replay.roundedChanges.map { Change(from: $0.key.from?.rawValue, to: $0.key.to?.rawValue, messages: $0.value) }
        self.init(
            messages: replay.messages, changed: replay.roundedTotal,
            changes: changes.sorted { ($1.messages, $0.from ?? "", $0.to ?? "") < ($0.messages, $1.from ?? "", $1.to ?? "") },
            step: RoutingReplay.step)
    }
}

extension DocumentDifferenceResource {
    init(from: Int, to: Int?, _ old: JSONValue, _ new: JSONValue) {
        self.init(from: from, to: to, operations: JSONPatch.difference(from: old, to: new).map(\.json))
    }
}
