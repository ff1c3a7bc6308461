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
    ) -> TurnOutcome {
        var outcome = TurnOutcome(
            status: status, finishReason: reason, fault: fault, answeredBy: by, usage: usage, releasedBytes: bytes)
        outcome.modelBytes = bytes
        return outcome
    }

    /// A machine with five released bytes.
    private func streaming() -> TurnMachine {
        var machine = TurnMachine()
        #expect(machine.isReleasing)
        machine.released(5)
        return machine
    }

    @Test("text is released as it arrives, and a natural end completes the turn")
    func naturalEnd() {
        var machine = TurnMachine()
        machine.accepted(by: sim)
        #expect(machine.calls.answeredBy == sim && machine.isReleasing)
        machine.released(2)
        machine.released(3)
        machine.reported(TokenUsage(input: 3))
        machine.reported(TokenUsage(input: 3, output: 1))
        let end = machine.ended(.stop)
        #expect(end?.outcome == outcome(.complete, .stop, by: sim, usage: TokenUsage(input: 3, output: 1), bytes: 5))
        #expect(end?.textToAppend == [])
        #expect(machine.isEnded && !machine.isReleasing)
    }

    @Test("the token limit and the provider's filter complete the turn with their own reasons")
    func otherEnds() {
        var limited = streaming()
        let limitedEnd = limited.ended(.length)
        #expect(limitedEnd?.outcome == outcome(.complete, .length, bytes: 5))
        var filtered = streaming()
        let filteredEnd = filtered.ended(.filtered)
        #expect(filteredEnd?.outcome == outcome(.complete, .safety, bytes: 5))
        var unknown = streaming()
        let unknownEnd = unknown.ended(.unknown)
        #expect(unknownEnd?.outcome == outcome(.complete, .stop, bytes: 5))
    }

    @Test("calls beside the one that answered are told; the last accepted one stays the turn's own when none answered after it")
    func unusedCalls() {
        let other = ModelName(provider: "other", model: "m")
        var answered = TurnMachine()
        answered.accepted(by: sim)
        answered.called([UnusedCall(name: sim, isAccepted: true, textBytes: 3)])
        answered.accepted(by: other)
        answered.released(5)
        let answeredEnd = answered.ended(.stop)
        #expect(answeredEnd?.outcome.answeredBy == other)
        #expect(answeredEnd?.outcome.unusedCalls == [UnusedCall(name: sim, isAccepted: true, textBytes: 3)])

        var void = TurnMachine()
        void.accepted(by: sim)
        void.reported(TokenUsage(input: 7))
        void.called([UnusedCall(name: sim, isAccepted: true, usage: TokenUsage(input: 7), textBytes: 3)])
        void.called([UnusedCall(name: other, isAccepted: false)])
        let voidEnd = void.ended(.failed(refused))
        #expect(voidEnd?.outcome.answeredBy == sim && voidEnd?.outcome.usage == TokenUsage(input: 7))
        #expect(voidEnd?.outcome.unusedCalls == [UnusedCall(name: other, isAccepted: false)] && voidEnd?.outcome.withheldBytes == 3)

        var withdrawn = TurnMachine()
        withdrawn.accepted(by: sim)
        withdrawn.called([UnusedCall(name: sim, isAccepted: false)])
        let withdrawnEnd = withdrawn.ended(.failed(refused))
        #expect(withdrawnEnd?.outcome.answeredBy == nil && withdrawnEnd?.outcome.unusedCalls == [], "refused after all")

        var refusedTwice = TurnMachine()
        refusedTwice.called([UnusedCall(name: sim, isAccepted: false)])
        refusedTwice.called([UnusedCall(name: other, isAccepted: false)])
        let refusedEnd = refusedTwice.ended(.failed(refused))
        #expect(refusedEnd?.outcome.answeredBy == nil)
        #expect(refusedEnd?.outcome.unusedCalls == [UnusedCall(name: sim, isAccepted: false)])
    }

    @Test("reasoning is that of the call that counts as the answer's")
    func reasoning() {
        let other = ModelName(provider: "other", model: "m")
        var answered = TurnMachine()
        answered.accepted(by: sim)
        answered.reasoned(40)
        answered.called([UnusedCall(name: sim, isAccepted: true, reasoningBytes: 40)])
        answered.accepted(by: other)
        answered.reasoned(7)
        answered.reasoned(9)
        answered.released(5)
        let end = answered.ended(.stop)
        #expect(end?.outcome.reasoningBytes == 9 && end?.outcome.unusedCalls.map(\.reasoningBytes) == [40])
        var void = TurnMachine()
        void.accepted(by: sim)
        void.reasoned(40)
        void.called([UnusedCall(name: sim, isAccepted: true, reasoningBytes: 40)])
        let voidEnd = void.ended(.failed(refused))
        #expect(voidEnd?.outcome.reasoningBytes == 40 && voidEnd?.outcome.unusedCalls == [])
    }

    @Test("a failure before the first text fails the turn, after it interrupts the turn")
    func failures() {
        var failing = TurnMachine()
        let failingEnd = failing.ended(.failed(refused))
        #expect(failingEnd?.outcome == outcome(.failed, nil, fault: refused))
        var interrupted = streaming()
        let interruptedEnd = interrupted.ended(.failed(refused))
        #expect(interruptedEnd?.outcome == outcome(.interrupted, nil, fault: refused, bytes: 5))
    }

    @Test("an end without text is a failure, not an empty answer")
    func emptyAnswer() {
        var machine = TurnMachine()
        machine.accepted(by: sim)
        let outcome = machine.ended(.stop)?.outcome
        #expect(outcome?.status == .failed && outcome?.answeredBy == sim)
    }

    @Test("an answer over the size limit is kept with finish reason length")
    func tooLong() {
        let fault = ModelFault(kind: .tooLong, detail: "64 KiB")
        var machine = streaming()
        let machineEnd = machine.ended(.failed(fault))
        #expect(machineEnd?.outcome == outcome(.complete, .length, fault: fault, bytes: 5))
    }

    @Test("at acute risk the fixed text is served when every model fails")
    func safetyText() {
        var machine = TurnMachine(safetyText: hello)
        let end = machine.ended(.failed(refused))
        #expect(end?.textToAppend == hello)
        var expected = outcome(.complete, .safety, fault: refused, bytes: 5)
        (expected.hasFixedText, expected.modelBytes) = (true, 0)
        #expect(end?.outcome == expected)
    }

    @Test("an opening is no answer of a model: without one the turn fails, or the fixed text follows")
    func opening() {
        var failing = TurnMachine(openingBytes: 9)
        #expect(!failing.hasReleased)
        let failed = failing.ended(.failed(refused))
        #expect(failed?.outcome.status == .failed && failed?.outcome.releasedBytes == 9)
        var fixed = TurnMachine(safetyText: hello, openingBytes: 9)
        let fixedEnd = fixed.ended(.failed(refused))
        #expect(fixedEnd?.outcome.releasedBytes == 14 && fixedEnd?.outcome.finishReason == .safety)
        var answered = TurnMachine(safetyText: hello, openingBytes: 9)
        answered.released(3)
        let answeredEnd = answered.ended(.failed(refused))
        #expect(answeredEnd?.outcome.status == .interrupted && answeredEnd?.outcome.releasedBytes == 12)
    }

    @Test("a stop cancels the model once, drops later text, and keeps the released text")
    func stop() {
        var machine = streaming()
        let requests = [machine.stopRequested(), machine.stopRequested()]
        #expect(requests == [true, false])
        #expect(machine.isStopping && !machine.isReleasing)
        machine.reported(TokenUsage(output: 2))
        let machineEnd = machine.ended(.cancelled)
        #expect(machineEnd?.outcome == outcome(.stopped, .stopped, usage: TokenUsage(output: 2), bytes: 5))
    }

    @Test("a stop requested before the natural end is a stop; one after the end changes nothing")
    func stopRaces() {
        var racing = streaming()
        #expect(racing.stopRequested() == true)
        let racingEnd = racing.ended(.stop)
        #expect(racingEnd?.outcome == outcome(.stopped, .stopped, bytes: 5))
        #expect(racing.stopRequested() == false)
        #expect(racing.isEnded)
    }

    @Test("nothing changes a turn that has ended")
    func afterTheEnd() {
        var machine = streaming()
        machine.accepted(by: sim)
        let first = machine.ended(.stop)
        #expect(first != nil && !machine.isReleasing)
        machine.accepted(by: ModelName(provider: "other", model: "other"))
        machine.reported(TokenUsage(output: 9))
        #expect(machine.calls.answeredBy == sim)
        let second = machine.ended(.failed(refused))
        #expect(second == nil)
    }
}
