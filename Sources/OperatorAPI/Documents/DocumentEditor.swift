import CoachCore
import Foundation
import HTTPEdge
import JSON

/// A version of a document with its body. Version 1 is the shipped file.
struct DocumentState: Sendable {
    var id: String
    var version: Int
    var body: JSONValue
    /// nil for the shipped file.
    var edit: DocumentVersion?
}

/// Reads, validates and saves the documents of one kind. One without a stored version has the body that shipped with the product.
struct DocumentEditor: Sendable {
    let type: DocumentType
    let documents: VersionedDocuments

    var ids: [String] { type.shipped.keys.sorted() }
    var hasOneDocument: Bool { ids == [DocumentName.onlyID] }

    /// The current version of every document.
    func current() async throws -> [DocumentState] {
        let edited = try await documents.current(type.kind)
        return ids.compactMap { id in edited.first { $0.name.id == id }.map { state($0) } ?? shipped(id) }
    }

    /// The current version of one document. Throws `notFound` for an id that is not shipped.
    func current(_ id: String) async throws -> DocumentState {
        guard let state = try await current().first(where: { $0.id == id }) else { throw GatewayError.notFound }
        return state
    }

    /// nil when there is no such version.
    func version(_ id: String, _ version: Int) async throws -> DocumentState? {
        // The versions of the store are integers of four bytes.
        guard (1...Int(Int32.max)).contains(version) else { return nil }
        return version == 1 ? shipped(id) : try await documents.version(name(id), version).map { state($0) }
    }

    /// Newest first; the last is the shipped one.
    func versions(_ id: String, _ request: PageRequest) async throws -> Page<DocumentState> {
        let before = try request.numberCursor
        let edited = try await documents.history(name(id), before.map { Int(min($0, Int64(Int32.max))) }, request.limit + 1).map {
            state($0)
        }
        let isLast = edited.count <= request.limit
        let all = edited + (isLast && before.map { $0 > 1 } ?? true ? [shipped(id)].compactMap { $0 } : [])
        return Page(all, limit: request.limit, number: { Int64($0.version) })
    }

    /// Throws all findings, as fields of the request's `body`.
    func validate(_ body: JSONValue, of id: String) throws(JSONFindings) {
        let findings = type.findings(id, body).map { JSONFinding($0.path.isEmpty ? "body" : "body.\($0.path)", $0.problem) }
        if let first = findings.first { throw JSONFindings(first, others: Array(findings.dropFirst())) }
    }

    /// Throws `StaleVersion` when `current` is not the current version any more.
    func save(
        _ content: DocumentEdit.Content, reason: String?, over current: DocumentState, _ caller: Caller, requestID: String
    ) async throws -> DocumentState {
        let edit = DocumentEdit(
            name: name(current.id), expectedVersion: current.version, content: content, reason: reason, requestID: requestID)
        let version = try await documents.put(caller, edit)
        guard let saved = try await self.version(current.id, version) else {
            throw StoreFault.unexpected("version \(version) of \(edit.name) is missing")
        }
        return saved
    }

    private func name(_ id: String) -> DocumentName { DocumentName(kind: type.kind, id: id) }

    private func shipped(_ id: String) -> DocumentState? {
        type.shipped[id].map { DocumentState(id: id, version: 1, body: $0) }
    }

    private func state(_ version: DocumentVersion) -> DocumentState {
        DocumentState(
            id: version.name.id, version: version.version, body: version.body ?? type.shipped[version.name.id] ?? .null, edit: version)
    }
}
