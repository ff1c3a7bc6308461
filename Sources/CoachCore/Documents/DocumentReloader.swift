import JSON

/// Applies edited versioned documents on this instance: each poll compares the current versions with those that it applied, and applies all documents of the
/// kinds in which one differs. Documents in the database that are not among a type's shipped documents are ignored.
public actor DocumentReloader {
    /// What a poll applied.
    public struct Applied: Sendable {
        /// These took effect, except those that a finding names.
        public var versions: [DocumentVersion]
        public var findings: [DocumentFinding]
    }

    private let documents: VersionedDocuments
    private let types: [DocumentType]
    /// What was applied; nil before the first poll.
    private var heads: Set<DocumentHead>?

    public init(documents: VersionedDocuments, types: [DocumentType]) {
        self.documents = documents
        self.types = types
    }

    /// Applies what has changed since the last poll, the first one all documents of the store. Returns nil when nothing has. Not concurrently.
    /// Throws `StoreFault`; the next poll reads what this one missed.
    public func poll() async throws -> Applied? {
        let former = heads ?? []
        // Compared as a whole, because a failover or a restored backup takes versions back.
        let changed = Set(try await documents.heads().filter { isShipped($0.name) }.symmetricDifference(former).map(\.name.kind))
        guard heads == nil || !changed.isEmpty else { return nil }
        var read: [DocumentVersion] = []
        for kind in changed { read += try await documents.current(kind).filter { isShipped($0.name) } }
        let bodies = read.reduce(into: [DocumentKind: [String: JSONValue]]()) { $0[$1.name.kind, default: [:]][$1.name.id] = $1.body }
        let findings = types.filter { changed.contains($0.kind) }.flatMap { $0.apply(bodies[$0.kind] ?? [:]) }
        heads = former.filter { !changed.contains($0.name.kind) }.union(read.map(\.head))
        return Applied(versions: read.filter { !former.contains($0.head) }, findings: findings)
    }

    private func isShipped(_ name: DocumentName) -> Bool { types.contains { $0.kind == name.kind && $0.shipped[name.id] != nil } }
}
