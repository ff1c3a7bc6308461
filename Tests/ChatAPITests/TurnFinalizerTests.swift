import CoachCore
import Synchronization
import TestSupport
import Testing
import TokenRelay

@testable import ChatAPI

@Suite("Finalizing turns")
struct TurnFinalizerTests {
    @Test("subscribers receive the end only after the receipt is saved")
    func order() async {
        let repository = FakeRepository(failures: 0)
        let model = FakeModel()
        let turn = model.turn()
        async let finalized: Void = repository.finalize(turn)
        model.emit("hello")
        model.end(.stop)
        await finalized
        #expect(repository.finished == 1 && repository.kept == 0)
        #expect(turn.ending?.status == .complete)
        #expect(repository.registry.count == 0)
    }

    @Test("when another instance has begun the next attempt, subscribers are told to resume")
    func superseded() async {
        let repository = FakeRepository(failures: 0, outcome: .superseded)
        let model = FakeModel()
        let turn = model.turn()
        repository.registry.insert(turn)
        let subscriber = Subscriber()
        #expect(turn.add(subscriber, limit: 1))
        model.emit("hello")
        model.end(.stop)
        await repository.finalize(turn)
        #expect(turn.ending == nil && repository.registry.count == 0)
        // There was no listener yet: a later one receives the signal.
        let recorder = SignalRecorder()
        subscriber.listen(recorder)
        #expect(recorder.signals == [.handOver])
    }

    @Test("an opening is not billed, and a turn in danger is recorded with what was done")
    func opening() async throws {
        let repository = FakeRepository(failures: 0)
        let model = FakeModel()
        var facts = TurnFacts.sample
        facts.risk = RiskAssessment(tier: .high, categories: [.suicide], subject: .user, patterns: ["en.x"], score: 1)
        let turn = model.turn(facts, opening: String(repeating: "I'm here. ", count: 20))
        model.emit("hello")
        model.end(.stop)
        await repository.finalize(turn)
        let receipt = try #require(repository.receipt)
        #expect(receipt.content.hasSuffix("I'm here. \n\nhello"))
        #expect(receipt.bill?.usage.output == TokenEstimate.tokens(in: "\n\nhello".utf8))
        let event = try #require(receipt.crisis?.events.first)
        #expect(event.action == .opening && event.stage == .grammar && event.scoreBucket == 9 && receipt.crisis?.events.count == 1)
    }

    @Test("a stopped answer is billed by its text and reasoning, not by what the provider counted at its beginning")
    func stopped() async throws {
        let repository = FakeRepository(failures: 0)
        let model = FakeModel()
        let turn = model.turn()
        model.report(TokenUsage(input: 9, output: 1, isPartial: true), reasoningBytes: 400)
        model.emit(String(repeating: "word ", count: 80))
        turn.stop()
        model.end(.cancelled)
        await repository.finalize(turn)
        let bill = try #require(repository.receipt?.bill)
        #expect(bill.estimated && bill.usage == TokenUsage(input: 9, output: 100, reasoning: 100))
    }

    @Test("a usage that cannot be true is not billed: the estimate is, with what can be true of the report")
    func implausible() async throws {
        let repository = FakeRepository(failures: 0)
        let model = FakeModel()
        let turn = model.turn()
        model.emit("Five words are all here")
        model.report(TokenUsage(input: 9, output: 1_000_000_000))
        model.end(.stop)
        await repository.finalize(turn)
        let bill = try #require(repository.receipt?.bill)
        #expect(bill.estimated && bill.usage.totalInput == 9 && bill.usage.totalOutput == 6, "\(bill)")
    }

    @Test("while the database is unavailable the receipt is on disk, subscribers receive the end, and it is delivered once")
    func away() async throws {
        let repository = FakeRepository(failures: 3)
        let model = FakeModel()
        let turn = model.turn()
        repository.registry.insert(turn)
        model.emit("hello")
        model.end(.stop)
        await repository.finalize(turn)
        #expect(repository.kept == 1 && repository.discarded == 1 && repository.finished == 1 && repository.attempts == 4)
        #expect(turn.ending?.finishReason == .stop)
    }

    @Test("a receipt that the database rejects ends its turn as failed, is not reported as saved, and stays on disk")
    func rejected() async throws {
        let repository = FakeRepository(failures: 0)
        repository.reject()
        let model = FakeModel()
        let turn = model.turn()
        repository.registry.insert(turn)
        model.emit("hello")
        model.end(.stop)
        await repository.finalize(turn)
        #expect(turn.ending == .rejected && repository.registry.count == 0)
        #expect(repository.kept == 1 && repository.discarded == 0)
        let failure = try #require(repository.failure)
        #expect(failure.status == .failed && failure.content.isEmpty && failure.bill == nil && failure.errorCode == "SYS_5000")
        var encoded: [UInt8] = []
        TerminalEvents(facts: turn.facts, ending: .rejected, keptBytes: 5, cursor: 5).encode(into: &encoded)
        let text = String(decoding: encoded, as: UTF8.self)
        #expect(text.contains(#""code":"SYS_5000""#) && text.contains(#""partial":true"#) && text.contains(#""kept_bytes":0"#))
    }

    @Test("when the failure is rejected too, the turn ends without its risk, which may be what the database rejects")
    func rejectedFailure() async throws {
        let repository = FakeRepository(failures: 0)
        repository.reject(failures: 5)
        let model = FakeModel()
        var facts = TurnFacts.sample
        facts.risk = RiskAssessment(tier: .imminent, categories: [.suicide], subject: .user, patterns: [])
        let turn = model.turn(facts)
        repository.registry.insert(turn)
        model.emit("hello")
        model.end(.stop)
        await repository.finalize(turn)
        #expect(turn.ending == .rejected && repository.registry.count == 0 && repository.attempts == 11)
        let failure = try #require(repository.failure)
        #expect(failure.status == .failed && failure.risk == nil && failure.crisis == nil)
    }

    @Test("when every failure is rejected, the turn is abandoned; its client does not wait until the database accepts that")
    func abandoned() async throws {
        let repository = FakeRepository(failures: 0)
        repository.reject(failures: .max)
        repository.rejectAbandoning()
        let model = FakeModel()
        let turn = model.turn()
        repository.registry.insert(turn)
        model.emit("hello")
        model.end(.stop)
        await repository.finalize(turn)
        #expect(turn.ending == .rejected && repository.registry.count == 0 && repository.attempts == 15 && repository.discarded == 0)
        try await eventually("the next attempts") { repository.abandonments >= 10 }
        #expect(repository.abandoned.isEmpty)
        repository.letAbandon()
        try await eventually("the last attempt") { repository.abandoned == [turn.facts.identity] }
    }

    private func delivery(_ finalizer: TurnFinalizer, adopt: @escaping @Sendable () -> Void = {}) -> ReceiptDelivery {
        ReceiptDelivery(finalizer: finalizer, interval: .milliseconds(1), adopt: adopt)
    }

    /// A turn whose model has ended.
    private func endedTurn(_ repository: FakeRepository) -> LiveTurn {
        let model = FakeModel()
        let turn = model.turn()
        repository.registry.insert(turn)
        model.emit("hello")
        model.end(.stop)
        return turn
    }

    @Test("a process that ends tries a receipt on disk for a while; then it leaves it there, and delivers it while other turns run")
    func closing() async throws {
        let brief = FakeRepository(failures: 3)
        brief.close()
        await brief.finalize(endedTurn(brief))
        #expect(brief.finished == 1 && brief.discarded == 1, "a short outage leaves nothing behind")

        let away = FakeRepository(failures: .max, patience: .milliseconds(5))
        away.close()
        let (finalizer, turn) = (away.finalizer, endedTurn(away))
        await away.finalize(turn, with: finalizer)
        #expect(turn.ending?.finishReason == .stop && away.kept == 1 && away.finished == 0 && away.registry.count == 0)
        try await delivery(finalizer).run(within: .zero) {
            away.becomeReachable()
            try await eventually("the delivery") { away.discarded == 1 }
        }
        #expect(away.finished == 1)
    }

    @Test("what other processes leave on the machine is adopted while this one runs, and a rejected receipt is not tried again")
    func adopted() async throws {
        let adoptions = Mutex(0)
        let repository = FakeRepository(failures: 0)
        repository.reject()
        let finalizer = repository.finalizer
        await repository.finalize(endedTurn(repository), with: finalizer)
        let attempts = repository.attempts
        try await delivery(finalizer) { adoptions.withLock { $0 += 1 } }.run {
            try await eventually("some adoptions") { adoptions.withLock { $0 } > 5 }
        }
        #expect(repository.attempts == attempts && repository.discarded == 0)
    }

    @Test("receipts of an earlier process are saved before the work begins; one that cannot be saved delays it only for so long")
    func leftovers() async throws {
        let facts = TurnFacts.sample
        let leftover = TurnReceipt(
            userID: facts.userID, identity: facts.identity, status: .failed, finishReason: nil, content: "", bill: nil,
            domain: facts.domain, risk: facts.risk, region: facts.region, errorCode: "EXT_4001", timeToFirstTokenMilliseconds: nil,
            durationMilliseconds: 0)
        let reachable = FakeRepository(failures: 2, leftovers: [leftover])
        try await delivery(reachable.finalizer).run(within: .seconds(60)) {
            #expect(reachable.finished == 1 && reachable.discarded == 1)
        }
        let locked = FakeRepository(failures: 1_000_000_000, leftovers: [leftover])
        try await delivery(locked.finalizer).run(within: .milliseconds(20)) {
            #expect(locked.finished == 0)
            locked.becomeReachable()
            try await eventually("the delivery beside the work") { locked.discarded == 1 }
        }
        // The end of the work ends the delivery.
        let away = FakeRepository(failures: 1_000_000_000, leftovers: [leftover])
        try await delivery(away.finalizer).run(within: .zero) {}
        #expect(away.finished == 0 && away.discarded == 0)
    }

    @Test("with a full disk the receipt is still delivered")
    func fullDisk() async {
        let repository = FakeRepository(failures: 2, diskIsFull: true)
        let model = FakeModel()
        let turn = model.turn()
        model.emit("hello")
        model.end(.stop)
        await repository.finalize(turn)
        #expect(repository.finished == 1 && repository.discarded == 0)
        #expect(turn.ending?.isSaved == true)
    }

    @Test("with a full disk and no database an answer is not reported as saved before it is")
    func unsaved() async throws {
        let repository = FakeRepository(failures: 1_000_000, diskIsFull: true)
        let model = FakeModel()
        let turn = model.turn()
        model.emit("hello")
        model.end(.stop)
        let finalizing = Task { await repository.finalize(turn) }
        try await eventually { turn.ending != nil }
        #expect(turn.ending == .unsaved(turn.ending?.bill) && turn.ending?.bill != nil, "what was billed is told")
        repository.becomeReachable()
        await finalizing.value
        #expect(turn.ending?.finishReason == .stop && turn.ending?.isSaved == true)
    }
}

/// Records the received signals.
private final class SignalRecorder: SubscriberListener {
    private let all = Mutex<[Subscriber.Signal]>([])
    var signals: [Subscriber.Signal] { all.withLock { $0 } }

    func signalled(_ signal: Subscriber.Signal) { all.withLock { $0.append(signal) } }
}
