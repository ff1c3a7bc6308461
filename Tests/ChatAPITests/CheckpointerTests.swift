import CoachCore
import Logging
import Synchronization
import TestSupport
import Testing
import TokenRelay

@testable import ChatAPI

@Suite("Checkpointer and LeaseRenewer")
struct CheckpointerTests {
    /// A recovery that rejects the text of one turn, is unavailable, or reports that another process has this instance's id.
    final class FakeRecovery: Sendable {
        struct State {
            var refused: TurnID?
            var isUnreachable = false
            /// How long a checkpoint takes.
            var delay = Duration.zero
            var hasLostLease = false
            var renewals = 0
            /// The turns, and the bytes, of each checkpoint that was taken.
            var taken: [[TurnID]] = []
            var bytes: [Int] = []
            var failed = 0
            var id: Int64 = 0
        }
        let state = Mutex(State())

        var recovery: TurnRecovery {
            TurnRecovery(
                renewLease: { [self] in
                    try state.withLock { state in
                        if state.hasLostLease { throw LeaseLost() }
                        state.renewals += 1
                        return []
                    }
                },
                checkpoint: { [self] batch, _ in
                    try await Task.sleep(for: state.withLock { $0.delay })
                    return try state.withLock { state in
                        if state.hasLostLease { throw LeaseLost() }
                        let turns = batch.map(\.identity.turnID)
                        if state.isUnreachable || state.refused.map(turns.contains) == true {
                            state.failed += 1
                            throw state.isUnreachable ? StoreFault.unavailable(retryAfter: 1) : StoreFault.unexpected("a bad row")
                        }
                        state.taken.append(turns)
                        state.bytes.append(batch.reduce(0) { $0 + $1.text.count })
                        state.id += 1
                        return state.id
                    }
                },
                load: { _, _ in nil }, tail: { _ in [] }, requestStop: { _, _ in false }, orphans: { _ in [] })
        }
    }

    private func checkpointer(_ recovery: FakeRecovery, _ registry: TurnRegistry, bytesPerStatement: Int = 1 << 20) -> Checkpointer {
        Checkpointer(
            recovery: recovery.recovery, registry: registry, logger: Self.silent, interval: .milliseconds(1),
            bytesPerStatement: bytesPerStatement)
    }

    private static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test("a turn that the database rejects is left out, and the others are saved")
    func badRow() async throws {
        let registry = TurnRegistry()
        let models = [FakeModel(), FakeModel(), FakeModel()]
        let turns = models.map { $0.turn() }
        for (model, turn) in zip(models, turns) {
            registry.insert(turn)
            model.emit("hello")
        }
        let bad = turns[1].facts.identity.turnID
        let recovery = FakeRecovery()
        recovery.state.withLock { $0.refused = bad }
        let running = Task { try await checkpointer(recovery, registry).run() }
        let good = [turns[0], turns[2]].map(\.facts.identity.turnID)
        /// Whether each good turn was saved so often; two turns need not come in one statement.
        func areSaved(_ times: Int) -> Bool {
            let taken = recovery.state.withLock { $0.taken.flatMap(\.self) }
            return good.allSatisfy { id in taken.count { $0 == id } >= times }
        }
        try await eventually { areSaved(1) }
        for model in models { model.emit(" again") }
        try await eventually { areSaved(2) }
        running.cancel()
        #expect(!recovery.state.withLock { $0.taken.joined().contains(bad) })
    }

    @Test("after an outage all text is saved once, in statements of bounded size")
    func backlog() async throws {
        let registry = TurnRegistry()
        let models = (0..<200).map { _ in FakeModel() }
        for model in models {
            registry.insert(model.turn())
            model.emit(String(repeating: "x", count: 1_000))
        }
        let recovery = FakeRecovery()
        recovery.state.withLock { $0.isUnreachable = true }
        let running = Task { try await checkpointer(recovery, registry, bytesPerStatement: 16_384).run() }
        try await eventually { recovery.state.withLock { $0.failed } >= 3 }
        recovery.state.withLock { $0.isUnreachable = false }
        try await eventually { recovery.state.withLock { $0.taken.joined().count } >= 200 }
        running.cancel()
        let (taken, bytes) = recovery.state.withLock { ($0.taken, $0.bytes) }
        #expect(Set(taken.joined().prefix(200)).count == 200)
        #expect(bytes.allSatisfy { $0 <= 16_384 + 1_000 } && taken.count >= 12)
    }

    @Test("a database that takes longer than a share's time gets the shares that are due together")
    func slowDatabase() async throws {
        let registry = TurnRegistry()
        for _ in 0..<1_200 {
            var facts = TurnFacts.sample
            facts.identity.turnID = .random()
            registry.insert(FakeModel().turn(facts))
        }
        let recovery = FakeRecovery()
        // The simulated fault: a checkpoint takes as long as a tick.
        recovery.state.withLock { $0.delay = .milliseconds(50) }
        let slow = Checkpointer(recovery: recovery.recovery, registry: registry, logger: Self.silent, interval: .milliseconds(50))
        let running = Task { try await slow.run() }
        try await eventually { recovery.state.withLock { Set($0.taken.joined()).count } == 1_200 }
        running.cancel()
        // Of eight shares.
        #expect(recovery.state.withLock { $0.taken.count } <= 3)
    }

    @Test("a lease is renewed while every checkpoint fails")
    func leaseByItself() async throws {
        let registry = TurnRegistry()
        let model = FakeModel()
        registry.insert(model.turn())
        model.emit("hello")
        let recovery = FakeRecovery()
        recovery.state.withLock { $0.isUnreachable = true }
        let saving = Task { try await checkpointer(recovery, registry).run() }
        let renewing = Task {
            try await LeaseRenewer(recovery: recovery.recovery, registry: registry, logger: Self.silent, interval: .milliseconds(1)).run()
        }
        try await eventually { recovery.state.withLock { $0.renewals >= 5 && $0.failed >= 5 } }
        saving.cancel()
        renewing.cancel()
        #expect(recovery.state.withLock { $0.taken }.isEmpty)
    }

    @Test("when another process has this instance's id, checkpoints and lease renewal end")
    func leaseLost() async {
        let recovery = FakeRecovery()
        recovery.state.withLock { $0.hasLostLease = true }
        let registry = TurnRegistry()
        await #expect(throws: LeaseLost.self) {
            try await LeaseRenewer(recovery: recovery.recovery, registry: registry, logger: Self.silent).run()
        }
        registry.insert(FakeModel().turn())
        await #expect(throws: LeaseLost.self) { try await checkpointer(recovery, registry).run() }
    }
}
