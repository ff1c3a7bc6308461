import CoachCore

/// Applies edited documents on this instance: polls the number of the latest change, reads the documents that changed since, and calls the
/// handler of their kind. Documents of kinds without a handler are skipped.
public struct DocumentReloader: Sendable {
    /// Receives a current version, one at a time, in the order of the changes. `body` nil: use the shipped file. Must not fail: a handler
    /// that cannot use a version keeps the one it has and reports it.
    public typealias Handler = @Sendable (DocumentVersion) async -> Void

    private let documents: VersionedDocuments
    private let handlers: [DocumentKind: Handler]
    private let interval: Duration

    /// `interval`: time between polls; with the time of a poll it stays below the contract's 2 s (CONTRACT §5).
    public init(documents: VersionedDocuments, interval: Duration = .seconds(1), handlers: [DocumentKind: Handler]) {
        self.documents = documents
        self.interval = interval
        self.handlers = handlers
    }

    /// Applies all documents of the store, then later changes. `onFailure` is called for each poll that failed; the next one reads what it
    /// missed. Throws `CancellationError`.
    public func run(onFailure: (any Error) -> Void = { _ in }) async throws {
        var seen: Int64 = 0
        while true {
            do {
                for change in try await documents.changed(seen) {
                    await handlers[change.document.name.kind]?(change.document)
                    seen = change.number
                }
            } catch let fault as StoreFault {
                onFailure(fault)
            }
            try await Task.sleep(for: interval)
        }
    }
}
