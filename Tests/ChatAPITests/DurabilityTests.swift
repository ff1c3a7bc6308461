import CoachCore
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing
import TokenRelay

@testable import ChatAPI

extension CheckpointCursors {
    /// A tick whose text fits into one statement.
    fileprivate mutating func tick(_ turns: [LiveTurn]) -> [TurnProgress] {
        begin(turns)
        var rest = turns[...]
        return collect(&rest, limit: .max)
    }
}

@Suite("Checkpoints are cursors")
struct CheckpointTests {
    @Test("each tick collects only what is new, in bytes, and the facts until text is saved")
    func increments() {
        let model = FakeModel()
        var facts = TurnFacts.sample
        // A turn writes all of its text again at one tick in 32, which its id decides: for this id not one of the first four.
        facts.identity.turnID = TurnID(UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 16)))
        let turn = model.turn(facts)
        var cursors = CheckpointCursors()
        let first = cursors.tick([turn])
        #expect(first.count == 1 && first[0].isFirst && first[0].text.isEmpty && first[0].fromByte == 0)
        cursors.saved(first, as: nil)
        #expect(cursors.tick([turn]).isEmpty)
        model.say("hé")
        let second = cursors.tick([turn])
        #expect(second.count == 1 && second[0].isFirst && second[0].text == "hé" && second[0].fromByte == 0)
        // The tick failed: the next one carries the same text and what came since.
        model.say("llo")
        let third = cursors.tick([turn])
        #expect(third[0].text == "héllo" && third[0].fromByte == 0)
        cursors.saved(third, as: 1)
        model.say("!")
        let fourth = cursors.tick([turn])
        #expect(!fourth[0].isFirst && fourth[0].text == "!" && fourth[0].fromByte == 6)
    }

    @Test("each turn says all again once in an interval, not all at one tick; what is older than the oldest of these is not needed")
    func wholes() {
        let mouths = (0..<64).map { _ in FakeModel() }
        let turns = mouths.map { $0.turn() }
        for model in mouths { model.say("hello") }
        var cursors = CheckpointCursors()
        #expect(cursors.neededFrom == .max)
        cursors.saved(cursors.tick(turns), as: 100)
        #expect(cursors.neededFrom == 100)
        var told: [TurnID: Int] = [:]
        let interval = Int64(CheckpointCursors.wholeInterval)
        for id in 1...interval {
            // One of them talks; the others are silent.
            mouths[0].say("!")
            let batch = cursors.tick(turns)
            #expect(batch.count < turns.count)
            for progress in batch where progress.fromByte == 0 {
                #expect(!progress.isFirst && progress.text.hasPrefix("hello"))
                told[progress.facts.identity.turnID, default: 0] += 1
            }
            // A tick that fails tells nothing, and the one before is still needed.
            if id > 1 { cursors.saved(batch, as: 100 + id) }
        }
        #expect(told.count == turns.count && told.values.allSatisfy { $0 == 1 })
        for id in interval + 1...2 * interval { cursors.saved(cursors.tick(turns), as: 100 + id) }
        #expect(cursors.neededFrom > 100 + interval)
        #expect(cursors.tick([]).isEmpty && cursors.neededFrom == .max)
    }

    @Test("a turn that is gone is forgotten, and its next attempt begins anew")
    func forgets() {
        let model = FakeModel()
        let turn = model.turn()
        var cursors = CheckpointCursors()
        cursors.saved(cursors.tick([turn]), as: nil)
        #expect(cursors.tick([]).isEmpty)
        #expect(cursors.tick([turn]).first?.isFirst == true)
    }
}

@Suite("Checkpoints and leases")
struct CheckpointerTests {
    /// A keeper that refuses what one turn says, is away, or tells that another process lives as this instance.
    private final class Keeper: Sendable {
        struct State {
            var refused: TurnID?
            var isAway = false
            var isOutlived = false
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
                        if state.isOutlived { throw LeaseLost() }
                        state.renewals += 1
                        return []
                    }
                },
                checkpoint: { [self] batch, _ in
                    try state.withLock { state in
                        if state.isOutlived { throw LeaseLost() }
                        let turns = batch.map(\.facts.identity.turnID)
                        if state.isAway || state.refused.map(turns.contains) == true {
                            state.failed += 1
                            throw state.isAway ? StoreFault.unavailable(retryAfter: 1) : StoreFault.unexpected("a bad row")
                        }
                        state.taken.append(turns)
                        state.bytes.append(batch.reduce(0) { $0 + $1.text.utf8.count })
                        state.id += 1
                        return state.id
                    }
                },
                load: { _, _ in nil }, tail: { _ in [] }, requestStop: { _, _ in false }, orphans: { [] },
                retry: { _, _ in throw StoreFault.unavailable(retryAfter: 1) })
        }
    }

    private func checkpointer(_ recovery: Keeper, _ registry: TurnRegistry, bytesPerStatement: Int = 1 << 20) -> Checkpointer {
        Checkpointer(
            recovery: recovery.recovery, registry: registry, logger: Self.silent, interval: .milliseconds(1),
            bytesPerStatement: bytesPerStatement
        )
    }

    private static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test("a turn that the database refuses is left out, and the others are saved")
    func badRow() async throws {
        let registry = TurnRegistry()
        let mouths = [FakeModel(), FakeModel(), FakeModel()]
        let turns = mouths.map { $0.turn() }
        for (model, turn) in zip(mouths, turns) {
            registry.insert(turn)
            model.say("hello")
        }
        let bad = turns[1].facts.identity.turnID
        let recovery = Keeper()
        recovery.state.withLock { $0.refused = bad }
        let running = Task { try await checkpointer(recovery, registry).run() }
        try await eventually { recovery.state.withLock { $0.taken.count } >= 2 }
        for model in mouths { model.say(" again") }
        try await eventually { recovery.state.withLock { $0.taken.last?.count } == 2 }
        running.cancel()
        let taken = recovery.state.withLock { $0.taken }
        #expect(!taken.joined().contains(bad))
        #expect(Set(taken[0] + taken[1]) == Set([turns[0], turns[2]].map(\.facts.identity.turnID)))
    }

    @Test("what an outage has left is saved in statements of bounded size, all of it, and nothing twice")
    func backlog() async throws {
        let registry = TurnRegistry()
        let mouths = (0..<200).map { _ in FakeModel() }
        for model in mouths {
            registry.insert(model.turn())
            model.say(String(repeating: "x", count: 1_000))
        }
        let recovery = Keeper()
        recovery.state.withLock { $0.isAway = true }
        let running = Task { try await checkpointer(recovery, registry, bytesPerStatement: 16_384).run() }
        try await eventually { recovery.state.withLock { $0.failed } >= 3 }
        recovery.state.withLock { $0.isAway = false }
        try await eventually { recovery.state.withLock { $0.taken.joined().count } >= 200 }
        running.cancel()
        let (taken, bytes) = recovery.state.withLock { ($0.taken, $0.bytes) }
        #expect(Set(taken.joined().prefix(200)).count == 200)
        #expect(bytes.allSatisfy { $0 <= 16_384 + 1_000 } && taken.count >= 12)
    }

    @Test("a lease is renewed while every checkpoint fails")
    func leaseByItself() async throws {
        let registry = TurnRegistry()
        let model = FakeModel()
        registry.insert(model.turn())
        model.say("hello")
        let recovery = Keeper()
        recovery.state.withLock { $0.isAway = true }
        let saving = Task { try await checkpointer(recovery, registry).run() }
        let renewing = Task {
            try await LeaseRenewer(recovery: recovery.recovery, registry: registry, logger: Self.silent, interval: .milliseconds(1)).run()
        }
        try await eventually { recovery.state.withLock { $0.renewals >= 5 && $0.failed >= 5 } }
        saving.cancel()
        renewing.cancel()
        #expect(recovery.state.withLock { $0.taken }.isEmpty)
    }

    @Test("when another process lives as this instance, both end with the process")
    func leaseLost() async {
        let recovery = Keeper()
        recovery.state.withLock { $0.isOutlived = true }
        let registry = TurnRegistry()
        await #expect(throws: LeaseLost.self) {
            try await LeaseRenewer(recovery: recovery.recovery, registry: registry, logger: Self.silent).run()
        }
        registry.insert(FakeModel().turn())
        await #expect(throws: LeaseLost.self) { try await checkpointer(recovery, registry).run() }
    }
}

@Suite("What is left of a cut turn")
struct ReaperTests {
    private let sim = ModelName(provider: "simulator", model: "sim")

    private func receipt(_ content: String, answeredBy: ModelName?) -> TurnReceipt {
        OrphanCollector.receipt(
            for: OrphanedTurn(facts: .sample, content: content, answeredBy: answeredBy, promptTokens: 40, durationMilliseconds: 9),
            prices: PriceBook([]))
    }

    @Test("text is kept as interrupted and billed by an estimate, in the reaper's name")
    func withText() {
        let kept = receipt("four words are here", answeredBy: sim)
        #expect(kept.status == .interrupted && kept.finalizedBy == .recovery && kept.finishReason == nil)
        #expect(kept.bill?.estimated == true && kept.bill?.usage.input == 40 && (kept.bill?.usage.output ?? 0) > 0)
        #expect(kept.bill?.cost == nil, "a model without a price has no cost, not cost 0")
    }

    @Test("it is priced as of the day on which it began, whatever this machine's clock says")
    func priceOfTheDay() {
        func cost(_ day: Int) -> Nanodollars? {
            var facts = TurnFacts.sample
            facts.day = CalendarDay(daysSinceEpoch: day)
            let prices = [(0, 1_000), (10, 2_000)].map { first, price in
                Price(
                    provider: sim.provider, model: sim.model, validFrom: CalendarDay(daysSinceEpoch: first),
                    input: PicodollarsPerToken(Int64(price)), output: PicodollarsPerToken(0))
            }
            return OrphanCollector.receipt(
                for: OrphanedTurn(facts: facts, content: "four words", answeredBy: sim, promptTokens: 40, durationMilliseconds: 9),
                prices: PriceBook(prices)
            ).bill?.cost
        }
        #expect(cost(9) == Nanodollars(40) && cost(10) == Nanodollars(80))
    }

    @Test("without text it has failed; without a model nothing is billed")
    func withoutText() {
        #expect(receipt("", answeredBy: sim).status == .failed)
        #expect(receipt("", answeredBy: sim).bill?.usage.input == 40)
        #expect(receipt("", answeredBy: nil).bill == nil)
    }
}

@Suite("Settling turns")
struct SettlementTests {
    @Test("the followers are told the end only after the receipt is in the ledger")
    func order() async {
        let repository = FakeRepository(failures: 0)
        let model = FakeModel()
        let turn = model.turn()
        async let settled: Void = repository.finalize(turn)
        model.say("hello")
        model.end(.stop)
        await settled
        #expect(repository.finished == 1 && repository.kept == 0)
        #expect(turn.ending?.status == .complete)
        #expect(repository.registry.count == 0)
    }

    @Test("whose turn went on elsewhere meanwhile tells his followers to resume, not that it is done")
    func superseded() async {
        let repository = FakeRepository(failures: 0, outcome: .superseded)
        let model = FakeModel()
        let turn = model.turn()
        repository.registry.insert(turn)
        let subscriber = Subscriber()
        #expect(turn.add(subscriber, limit: 1))
        model.say("hello")
        model.end(.stop)
        await repository.finalize(turn)
        #expect(turn.ending == nil && repository.registry.count == 0)
        // Nobody listened yet: the bell is heard by who does.
        let recorder = SignalRecorder()
        subscriber.listen(recorder)
        #expect(recorder.signals == [.handOver])
    }

    @Test("while the database is away the receipt lies on disk, the followers know the end, and it is delivered once")
    func away() async throws {
        let repository = FakeRepository(failures: 3)
        let model = FakeModel()
        let turn = model.turn()
        repository.registry.insert(turn)
        model.say("hello")
        model.end(.stop)
        await repository.finalize(turn)
        #expect(repository.kept == 1 && repository.discarded == 1 && repository.finished == 1 && repository.attempts == 4)
        #expect(turn.ending?.finishReason == .stop)
    }

    @Test("a receipt that the database refuses for good ends its turn as failed, is not told as saved before, and stays on disk")
    func refused() async throws {
        let repository = FakeRepository(failures: 0)
        repository.refuse()
        let model = FakeModel()
        let turn = model.turn()
        repository.registry.insert(turn)
        model.say("hello")
        model.end(.stop)
        await repository.finalize(turn)
        #expect(turn.ending == .refused && repository.registry.count == 0)
        #expect(repository.kept == 1 && repository.discarded == 0)
        let failure = try #require(repository.failure)
        #expect(failure.status == .failed && failure.content.isEmpty && failure.bill == nil && failure.errorCode == "SYS_5000")
        var told: [UInt8] = []
        TerminalEvents(facts: turn.facts, ending: .refused, keptBytes: 5, cursor: 5).encode(into: &told)
        let text = String(decoding: told, as: UTF8.self)
        #expect(text.contains(#""code":"SYS_5000""#) && text.contains(#""partial":true"#) && text.contains(#""kept_bytes":0"#))
    }

    @Test("a full disk is survived: the receipt is still tried")
    func fullDisk() async {
        let repository = FakeRepository(failures: 2, diskIsFull: true)
        let model = FakeModel()
        let turn = model.turn()
        model.say("hello")
        model.end(.stop)
        await repository.finalize(turn)
        #expect(repository.finished == 1 && repository.discarded == 0)
        #expect(turn.ending?.isSaved == true)
    }

    @Test("with a full disk and no database nobody is told that the answer is saved, before it is")
    func unsaved() async throws {
        let repository = FakeRepository(failures: 1_000_000, diskIsFull: true)
        let model = FakeModel()
        let turn = model.turn()
        model.say("hello")
        model.end(.stop)
        let settling = Task { await repository.finalize(turn) }
        while turn.ending == nil { try await Task.sleep(for: .milliseconds(1)) }
        #expect(turn.ending == .unsaved)
        repository.comesBack()
        await settling.value
        #expect(turn.ending?.finishReason == .stop && turn.ending?.isSaved == true)
    }
}

/// Remembers what it heard.
private final class SignalRecorder: SubscriberListener {
    private let all = Mutex<[Subscriber.Signal]>([])
    var signals: [Subscriber.Signal] { all.withLock { $0 } }

    func signalled(_ signal: Subscriber.Signal) { all.withLock { $0.append(signal) } }
}

/// A ledger that is away for a while, and a spool.
private final class FakeRepository: Sendable {
    struct State {
        var failuresLeft: Int
        /// Refuses what is not in recovery's name.
        var refuses = false
        var failure: TurnReceipt?
        var attempts = 0
        var finished = 0
        var kept = 0
        var discarded = 0
    }
    private let state: Mutex<State>
    private let diskIsFull: Bool
    private let outcome: ReceiptOutcome
    let registry = TurnRegistry()

    init(failures: Int, diskIsFull: Bool = false, outcome: ReceiptOutcome = .finalized) {
        state = Mutex(State(failuresLeft: failures))
        self.outcome = outcome
        self.diskIsFull = diskIsFull
    }

    /// As the pipeline does it: waits for the model's end, and settles.
    func finalize(_ turn: LiveTurn) async {
        let outcome = await withCheckedContinuation { continuation in turn.onOutcome { continuation.resume(returning: $0) } }
        await finalizer.finalize(turn, outcome, arrivedAt: .now, requestID: "r")
    }

    func refuse() { state.withLock { $0.refuses = true } }
    var failure: TurnReceipt? { state.withLock { $0.failure } }

    func comesBack() { state.withLock { $0.failuresLeft = 0 } }

    var attempts: Int { state.withLock { $0.attempts } }
    var finished: Int { state.withLock { $0.finished } }
    var kept: Int { state.withLock { $0.kept } }
    var discarded: Int { state.withLock { $0.discarded } }

    var finalizer: TurnFinalizer {
        let repository = TurnRepository(
            begin: { _, _, _ in throw StoreFault.unavailable(retryAfter: 1) },
            finish: { [self] receipt in
                try state.withLock { state in
                    state.attempts += 1
                    if state.refuses {
                        guard receipt.finalizedBy == .recovery else { throw StoreFault.unexpected("no such column") }
                        state.failure = receipt
                    }
                    guard state.failuresLeft == 0 else {
                        state.failuresLeft -= 1
                        throw StoreFault.unavailable(retryAfter: 1)
                    }
                    state.finished += 1
                }
                return outcome
            })
        let spool = ReceiptSpool(
            keep: { [self] _ in
                if diskIsFull { throw CocoaError(.fileWriteOutOfSpace) }
                state.withLock { $0.kept += 1 }
                return .init(name: "1")
            },
            discard: { [self] _ in state.withLock { $0.discarded += 1 } }, pending: { [] })
        return TurnFinalizer(
            repository: repository, prices: LiveValue(PriceBook([])), registry: registry, spool: spool,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            pauses: [.zero])
    }
}

/// A model that says what the test says.
private final class FakeModel: Sendable {
    private let emit = Mutex<(@Sendable (ModelUpdate) -> Void)?>(nil)

    func turn(_ facts: TurnFacts = .sample) -> LiveTurn {
        let turn = LiveTurn(facts: facts)
        let name = ModelName(provider: "simulator", model: "sim")
        turn.generate(
            with: LanguageModel(firstChoice: name) { [self] _, emit in
                self.emit.withLock { $0 = emit }
                emit(ModelUpdate(acceptedBy: name))
                return Generation {}
            }, Prompt(messages: [], maximumOutputTokens: 1))
        return turn
    }

    func say(_ text: String) {
        let emit = emit.withLock { $0 }
        Array(text.utf8).withUnsafeBufferPointer { emit?(ModelUpdate(text: $0)) }
    }

    func end(_ end: ModelEnd) { emit.withLock { $0.take() }?(ModelUpdate(end: end)) }
}

extension TurnFacts {
    fileprivate static var sample: TurnFacts {
        TurnFacts(
            userID: .random(),
            identity: TurnIdentity(
                turnID: .random(), conversationID: .random(), userMessageID: .random(), messageID: .random(), attempt: 1),
            day: CalendarDay(unixSeconds: 0),
            domain: DomainDecision(domain: .mindset, confidence: 1, source: .pinned), personaID: nil,
            model: ModelName(provider: "simulator", model: "sim"), risk: .calm, region: .unknown)
    }
}
