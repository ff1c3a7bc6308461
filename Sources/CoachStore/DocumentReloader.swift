import CoachCore
import JSON

/// Applies edited versioned documents on this instance: polls for changed documents, and applies all documents of their kinds. Documents in
/// the database that are not among a type's shipped documents are ignored.
public struct DocumentReloader: Sendable {
    /// The result of a poll.
    public enum Event: Sendable {
        /// These versions took effect, except those that a finding names. The first poll reports all documents of the store.
        case applied([DocumentVersion], findings: [DocumentFinding])
        /// The database was unavailable. The next poll reads what this one missed.
        case failed(any Error)
    }

    private let documents: VersionedDocuments
    private let types: [DocumentType]
    private let interval: Duration

    /// - Parameter interval: between polls. Together with the duration of a poll it must stay below 2 s (CONTRACT §5).
    public init(documents: VersionedDocuments, types: [DocumentType], interval: Duration = .seconds(1)) {
        self.documents = documents
        self.types = types
        self.interval = interval
    }

    /// Applies all documents of the store, then later changes, until cancelled. Throws `CancellationError`.
    public func run(_ report: (Event) -> Void) async throws {
        var seen: Int64 = 0
        var isFirst = true
        var bodies: [DocumentKind: [String: JSONValue]] = [:]
        while true {
            do {
                let changes = try await documents.changed(seen)
                let applied = changes.map(\.document).filter { isShipped($0.name) }
                for document in applied { bodies[document.name.kind, default: [:]][document.name.id] = document.body }
                let kinds = Set(applied.map(\.name.kind))
                let findings = types.filter { kinds.contains($0.kind) }.flatMap { $0.apply(bodies[$0.kind] ?? [:]) }
                if isFirst || !applied.isEmpty { report(.applied(applied, findings: findings)) }
                seen = changes.last?.number ?? seen
                isFirst = false
            } catch let fault as StoreFault {
                report(.failed(fault))
            }
            try await Task.sleep(for: interval)
        }
    }

    private func isShipped(_ name: DocumentName) -> Bool { types.contains { $0.kind == name.kind && $0.shipped[name.id] != nil } }
}
