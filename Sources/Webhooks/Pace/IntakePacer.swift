import CoachCore
import Synchronization

/// Holds events of billing senders back as `IntakePace` and `TurnGate` decide, by the turns of the repository that it watches.
public final class IntakePacer: Sendable {
    private let pace: Mutex<IntakePace>
    let gate: TurnGate

    /// - Parameter eventsPerSecond: that are stored, on average; more wait, but for those of a second after a pause.
    public convenience init(eventsPerSecond: Int) {
        self.init(eventsPerSecond: eventsPerSecond, gate: TurnGate())
    }

    init(eventsPerSecond: Int, gate: TurnGate) {
        self.gate = gate
        pace = Mutex(IntakePace(eventsPerSecond: eventsPerSecond, at: .now))
    }

    /// The same repository, the time of whose `begin` and `retry` is observed.
    public func watch(_ repository: TurnRepository) -> TurnRepository {
        var watched = repository
        watched.begin = { [self] caller, request, assessment in
            try await observing { try await repository.begin(caller, request, assessment) }
        }
        watched.retry = { [self] caller, request in try await observing { try await repository.retry(caller, request) } }
        return watched
    }

    private func observing(_ begin: () async throws -> BeginTurnResult) async throws -> BeginTurnResult {
        let start = ContinuousClock.now
        gate.turnBegins()
        // Turns that fail, too: one that runs into a time limit is the surest sign of too much work.
        defer {
            let now = ContinuousClock.now
            pace.withLock { $0.turnBegan(at: now, after: now - start) }
            gate.turnBegan()
        }
        return try await begin()
    }

    /// Stores an event when it may be stored, nearly in the order of calls. Returns nil at once when that is too late for its sender.
    func store<Receipt>(_ store: () async throws -> Receipt) async throws -> Receipt? {
        let now = ContinuousClock.now
        guard let pause = pace.withLock({ $0.admit(at: now) }) else { return nil }
        defer { pace.withLock { $0.answered(at: .now) } }
        if pause > .zero { try await Task.sleep(until: now + pause, clock: .continuous) }
        await gate.pass()
        return try await store()
    }
}
