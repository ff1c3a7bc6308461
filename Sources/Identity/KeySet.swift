import JSON
import Synchronization

/// The public keys of a token issuer, loaded from a `KeySource` and reloaded at intervals. Readers get an immutable snapshot; after a
/// failed reload the last valid one stays in use. Any thread.
public final class KeySet: Sendable {
    /// The result of a reload, for the log. Reported when it differs from the previous result, not at every reload.
    public enum Event: Sendable, Equatable {
        /// A new document. `identifiers`: the `kid`s of its usable keys; `findings`: a sentence for each unusable key.
        case loaded(identifiers: [String], findings: [String])
        /// The document could not be read; the previous keys stay in use.
        case failed(reason: String)
    }

    private struct State {
        var keys = VerificationKeys.none
        var document: [UInt8]?
        var failure: String?
        var gate: ReloadGate
        var loading: Task<Bool, Never>?

        /// Applies the result of a reload and returns the event to report. `.success(nil)`: the document has not changed.
        mutating func finish(_ outcome: Result<KeySetDocument?, any Error>, bytes: [UInt8]?) -> Event? {
            gate.finished()
            loading = nil
            switch outcome {
            case .success(let document):
                failure = nil
                guard let document else { return nil }
                keys = document.keys
                self.document = bytes
                return .loaded(identifiers: document.keys.identifiers, findings: document.findings)
            case .failure(let error):
                let reason = error is JSONFinding ? "the document is not a JSON Web Key Set" : "\(error)"
                guard failure != reason else { return nil }
                failure = reason
                return .failed(reason: reason)
            }
        }
    }

    private let state: Mutex<State>
    private let source: KeySource
    private let now: @Sendable () -> ContinuousClock.Instant
    private let sleep: @Sendable (Duration) async throws -> Void
    private let report: @Sendable (Event) -> Void

    /// Has no keys until `load` or `run` reads them.
    /// - Parameters:
    ///   - unknownKeyPause: the shortest time between two reloads because of tokens with an unknown `kid`.
    ///   - report: must not block.
    public init(
        source: KeySource, unknownKeyPause: Duration = .seconds(10),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        report: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        self.source = source
        self.now = now
        self.sleep = sleep
        self.report = report
        state = Mutex(State(gate: ReloadGate(unknownKeyPause: unknownKeyPause)))
    }

    /// The current keys.
    public var current: VerificationKeys { state.withLock { $0.keys } }

    /// Why the last reload failed; nil when it succeeded and before the first one.
    public var failure: String? { state.withLock { $0.failure } }

    /// Reloads now, or waits for the reload in progress. False when it failed; the reason is in `failure`.
    @discardableResult
    public func load() async -> Bool {
        await reload { $0.due() }
    }

    /// Loads a source once and returns what is wrong with it; empty when tokens can be verified with its keys.
    public static func findings(of source: KeySource) async -> [String] {
        let keySet = KeySet(source: source)
        await keySet.load()
        if let failure = keySet.failure { return [failure] }
        return keySet.current.identifiers.isEmpty ? ["the key set is empty"] : []
    }

    /// Reloads at the interval of the source, and sooner after a failure, until the task is cancelled.
    public func run() async {
        var failures = 0
        while !Task.isCancelled {
            failures = await load() ? 0 : failures + 1
            do { try await sleep(source.delay(afterFailures: failures)) } catch { return }
        }
    }

    /// Reloads because of a token with an unknown `kid`. False when the keys were not reloaded: the last such reload was less than
    /// `unknownKeyPause` ago, or this one failed.
    func reloadForUnknownKey() async -> Bool {
        let instant = now()
        return await reload { $0.unknownKey(at: instant) }
    }

    private func reload(_ decide: (inout ReloadGate) -> ReloadGate.Decision) async -> Bool {
        let loading: Task<Bool, Never>? = state.withLock { state in
            switch decide(&state.gate) {
            case .refuse: return nil
            case .join: return state.loading
            case .start:
                // Not cancelled, because several callers share it; the time limit of the source ends it.
                let task = Task { await self.read() }
                state.loading = task
                return task
            }
        }
        return await loading?.value ?? false
    }

    private func read() async -> Bool {
        let outcome: Result<KeySetDocument?, any Error>
        var bytes: [UInt8]?
        do {
            let read = try await source.load()
            bytes = read
            let known = state.withLock { $0.document == read }
            let document = known ? nil : try KeySetDocument(read)
            // An empty set removes all keys. A set with only unusable keys is an error, and the previous keys stay.
            if let document, document.keys.identifiers.isEmpty, !document.findings.isEmpty {
                throw KeySourceError.noUsableKey(findings: document.findings)
            }
            outcome = .success(document)
        } catch {
            outcome = .failure(error)
        }
        let event = state.withLock { $0.finish(outcome, bytes: bytes) }
        if let event { report(event) }
        if case .failure = outcome { return false }
        return true
    }
}
