import JSON

/// Applies edited versioned documents on this instance: each poll reads the documents that changed, and applies all documents of their kinds.
/// Documents in the database that are not among a type's shipped documents are ignored.
public actor DocumentReloader {
    /// What a poll applied.
    public struct Applied: Sendable {
        /// These took effect, except those that a finding names.
        public var versions: [DocumentVersion]
        public var findings: [DocumentFinding]
    }

    private let documents: VersionedDocuments
    private let types: [DocumentType]
    /// The number of the newest change that was applied; nil before the first poll.
    private var seen: Int64?
    private var bodies: [DocumentKind: [String: JSONValue]] = [:]

    public init(documents: VersionedDocuments, types: [DocumentType]) {
        self.documents = documents
        self.types = types
    }

    /// Applies what has changed since the last poll, the first one all documents of the store. Returns nil when nothing has. Not concurrently.
    /// Throws `StoreFault`; the next poll reads what this one missed.
    public func poll() async throws -> Applied? {
        let changes = try await documents.changed(seen ?? 0)
        let applied = changes.map(\.document).filter { isShipped($0.name) }
        for document in applied { bodies[document.name.kind, default: [:]][document.name.id] = document.body }
        let kinds = Set(applied.map(\.name.kind))
        let findings = types.filter { kinds.contains($0.kind) }.flatMap { $0.apply(bodies[$0.kind] ?? [:]) }
        let isFirst = seen == nil
        seen = changes.last?.number ?? seen ?? 0
        return isFirst || !applied.isEmpty ? Applied(versions: applied, findings: findings) : nil
    }

    private func isShipped(_ name: DocumentName) -> Bool { types.contains { $0.kind == name.kind && $0.shipped[name.id] != nil } }
}
