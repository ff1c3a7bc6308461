import JSON
import Synchronization

/// The public keys of a token issuer, loaded from a `KeySource`, whose `schedule` says how often. Readers get an immutable snapshot; after
/// a failed reload the last valid one stays in use. Any thread.
public final class KeySet: Sendable {
    /// Gets each new document: the `kid`s of its usable keys, and a sentence for each unusable key.
    public typealias Report = @Sendable (_ identifiers: [String], _ findings: [String]) -> Void

    private struct State {
        /// Nil until the first document is loaded.
        var keys: VerificationKeys?
        var document: [UInt8]?
        var failure: String?
        var gate: ReloadGate
        var loading: Task<Bool, Never>?

        /// Applies the result of a reload. `.success(nil)`: the document has not changed.
        mutating func finish(_ outcome: Result<KeySetDocument?, any Error>, bytes: [UInt8]?) {
            gate.finished()
            loading = nil
            switch outcome {
            case .success(let document):
                failure = nil
                guard let document else { return }
                keys = document.keys
                self.document = bytes
            case .failure(let error):
                failure = error is JSONFinding ? "the document is not a JSON Web Key Set" : "\(error)"
            }
        }
    }

    private let state: Mutex<State>
    private let source: KeySource
    private let now: @Sendable () -> ContinuousClock.Instant
    private let report: Report

    /// Its keys are not known until `load` reads them.
    /// - Parameters:
    ///   - unknownKeyPause: the shortest time between two reloads because of tokens with an unknown `kid`.
    ///   - report: must not block.
    public init(
        source: KeySource, unknownKeyPause: Duration = .seconds(10),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        report: @escaping Report = { _, _ in }
    ) {
        self.source = source
        self.now = now
        self.report = report
        state = Mutex(State(gate: ReloadGate(unknownKeyPause: unknownKeyPause)))
    }

    /// The current keys; nil until they have been loaded once, so that it is not known which key ids there are.
    public var current: VerificationKeys? { state.withLock { $0.keys } }

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
        let identifiers = keySet.current?.identifiers ?? []
        return identifiers.isEmpty ? ["the key set is empty"] : []
    }

    /// Reloads because of a token whose `kid` is unknown, or cannot be looked up yet. False when the keys were not reloaded: the last such reload was
    /// less than `unknownKeyPause` ago, or this one failed.
    func reloadForUnknownKey() async -> Bool {
        let instant = now()
        return await reload { $0.unknownKey(at: instant) }
    }

    private func reload(_ decide: (inout ReloadGate) -> ReloadGate.Decision) async -> Bool {
        let loading: Task<Bool, Never>? = state.withLock { state in
            switch decide(&state.gate) {
            case .skip: return nil
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
        state.withLock { $0.finish(outcome, bytes: bytes) }
        guard case .success(let document) = outcome else { return false }
        if let document { report(document.keys.identifiers, document.findings) }
        return true
    }
}
