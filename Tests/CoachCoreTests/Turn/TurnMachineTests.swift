import CoachCore
import Testing

@Suite("The turn machine")
struct TurnMachineTests {
    private let hello = Array("hello".utf8)
    private let sim = ModelName(provider: "simulator", model: "sim-coach-1")
    private let refused = ModelFault(kind: .refused, detail: "503")

    private func outcome(
        _ status: TurnStatus, _ reason: FinishReason?, fault: ModelFault? = nil, by: ModelName? = nil, usage: TokenUsage = TokenUsage(),
        bytes: Int = 0
    ) -> TurnMachine.Action {
        .end(TurnOutcome(status: status, finishReason: reason, fault: fault, answeredBy: by, usage: usage, releasedBytes: bytes))
    }

    @Test("text is released as it comes and a natural end completes the turn")
    func naturalEnd() {
        var machine = TurnMachine()
        #expect(machine.received(.accepted(sim)) == [])
        #expect(machine.received(.text(hello)) == [.append(hello)])
        #expect(machine.received(.usage(TokenUsage(input: 3, output: 1))) == [])
        #expect(machine.received(.ended(.stop)) == [outcome(.complete, .stop, by: sim, usage: TokenUsage(input: 3, output: 1), bytes: 5)])
        #expect(machine.isEnded)
    }

    @Test("U+0000 of a model is dropped and not counted")
    func nul() {
        var machine = TurnMachine()
        #expect(machine.received(.text([97, 0, 98])) == [.append([97, 98])])
        #expect(machine.received(.text([0])) == [])
        #expect(machine.received(.ended(.stop)) == [outcome(.complete, .stop, bytes: 2)])
    }

    @Test("the token limit and the provider's filter complete the turn with their own reasons")
    func otherEnds() {
        var limited = TurnMachine()
        _ = limited.received(.text(hello))
        #expect(limited.received(.ended(.length)) == [outcome(.complete, .length, bytes: 5)])
        var filtered = TurnMachine()
        _ = filtered.received(.text(hello))
        #expect(filtered.received(.ended(.filtered)) == [outcome(.complete, .safety, bytes: 5)])
    }

    @Test("a failure before the first text fails the turn, after it interrupts the turn")
    func failures() {
        var silent = TurnMachine()
        #expect(silent.received(.ended(.failed(refused))) == [outcome(.failed, nil, fault: refused)])
        var spoken = TurnMachine()
        _ = spoken.received(.text(hello))
        #expect(spoken.received(.ended(.failed(refused))) == [outcome(.interrupted, nil, fault: refused, bytes: 5)])
    }

    @Test("an end without a word is a failure, not an empty answer")
    func emptyAnswer() {
        var machine = TurnMachine()
        _ = machine.received(.accepted(sim))
        guard case .end(let outcome) = machine.received(.ended(.stop)).last else {
            Issue.record("no end")
            return
        }
        #expect(outcome.status == .failed && outcome.answeredBy == sim)
    }

    @Test("an answer that outgrows its bound is kept as one that reached its length")
    func tooLong() {
        let fault = ModelFault(kind: .tooLong, detail: "64 KiB")
        var machine = TurnMachine()
        _ = machine.received(.text(hello))
        #expect(machine.received(.ended(.failed(fault))) == [outcome(.complete, .length, fault: fault, bytes: 5)])
    }

    @Test("in acute danger the fixed text is served when every model fails")
    func safetyText() {
        var machine = TurnMachine(safetyText: hello)
        #expect(machine.received(.ended(.failed(refused))) == [.append(hello), outcome(.complete, .safety, fault: refused, bytes: 5)])
    }

    @Test("a stop cancels the model once, drops what comes later, and keeps what was said")
    func stop() {
        var machine = TurnMachine()
        _ = machine.received(.text(hello))
        #expect(machine.stopRequested() == [.cancelGeneration])
        #expect(machine.stopRequested() == [])
        #expect(machine.received(.text(hello)) == [])
        #expect(machine.received(.usage(TokenUsage(output: 2))) == [])
        #expect(machine.received(.ended(.cancelled)) == [outcome(.stopped, .stopped, usage: TokenUsage(output: 2), bytes: 5)])
    }

    @Test("a stop that races with the natural end is a stop; one after the end changes nothing")
    func stopRaces() {
        var racing = TurnMachine()
        _ = racing.received(.text(hello))
        _ = racing.stopRequested()
        #expect(racing.received(.ended(.stop)) == [outcome(.stopped, .stopped, bytes: 5)])
        #expect(racing.stopRequested() == [])
    }

    @Test("nothing changes a turn that has ended")
    func afterTheEnd() {
        var machine = TurnMachine()
        _ = machine.received(.text(hello))
        _ = machine.received(.ended(.stop))
        #expect(machine.received(.text(hello)) == [])
        #expect(machine.received(.accepted(sim)) == [])
        #expect(machine.received(.usage(TokenUsage(output: 9))) == [])
        #expect(machine.received(.ended(.failed(refused))) == [])
    }
}
