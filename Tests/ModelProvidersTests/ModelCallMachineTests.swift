import CoachCore
import Testing
import TokenRelay

@testable import ModelProviders

@Suite("ModelCallMachine")
struct ModelCallMachineTests {
    private typealias Machine = ModelCallMachine
    private static let start = MonotonicInstant.now
    private static let choices = ["a", "b"].map { ModelChoice(name: ModelName(provider: $0, model: "m")) }
    private static let usage = TokenUsage(input: 3, output: 4)

    private let start = Self.start

    /// A call whose request to the first choice is out.
    private static func calling(choices count: Int = 2, limits: CallLimits = CallLimits()) -> Machine {
        var machine = Machine(choices: Array(choices.prefix(count)), limits: limits, start: start)
        _ = machine.begin(at: start)
        machine.requestLeft()
        return machine
    }

    /// A call whose acceptance was delivered.
    private static func accepted(choices: Int = 2, limits: CallLimits = CallLimits()) -> Machine {
        var machine = calling(choices: choices, limits: limits)
        _ = machine.received(TransferHead(status: 200), at: start)
        _ = machine.takeDelivery()
        return machine
    }

    private static func update(
        _ text: String = "", usage: TokenUsage? = nil, verdict: ParsedUpdate.Verdict? = nil
    ) -> ParsedUpdate {
        var update = ParsedUpdate()
        update.text = Array(text.utf8)
        update.usage = usage
        update.verdict = verdict
        return update
    }

    private static func read(_ machine: inout Machine, _ update: ParsedUpdate) -> Machine.Action {
        var update = update
        return machine.received(&update, at: start)
    }

    private static func body(_ machine: inout Machine, _ bytes: [UInt8]) -> Machine.Action {
        bytes.withUnsafeBytes { machine.receivedErrorBody($0) }
    }

    @Test("an answer is acceptance, text, usage and end, and its transfer may end by itself")
    func ordinary() {
        var machine = Machine(choices: Self.choices, limits: CallLimits(), start: start)
        #expect(machine.begin(at: start) == .send(Self.choices[0]))
        #expect(!machine.hasDelivery && machine.deadline != nil)
        #expect(machine.received(TransferHead(status: 200), at: start) == .readAnswer(Self.choices[0]))
        #expect(machine.takeDelivery().fields == Machine.Fields(acceptedBy: Self.choices[0].name))
        #expect(Self.read(&machine, Self.update("Hello")) == .none)
        let text = machine.takeDelivery()
        #expect(text.text == 5 && text.fields == nil && !machine.hasDelivery)
        #expect(Self.read(&machine, Self.update("!", usage: Self.usage, verdict: .ended(.stop))) == .letTransferEnd)
        let last = machine.takeDelivery()
        #expect(last.text == 1 && last.fields == Machine.Fields(usage: Self.usage, end: .stop))
        #expect(machine.isEnded && machine.deadline == nil)
    }

    @Test("each attempt and each end of one has another number, so a transfer that was given up is not listened to")
    func numbers() {
        var machine = Self.calling()
        let first = machine.attempt
        #expect(machine.failed(MachineBench.refusal(), at: start) == .send(Self.choices[1]))
        machine.requestLeft()
        let second = machine.attempt
        #expect(machine.current == Self.choices[1])
        #expect(machine.cancelled() == .cancelTransfer)
        #expect(Set([first, second, machine.attempt]).count == 3)
        let others = Self.choices.map { UnusedCall(name: $0.name, isAccepted: false) }
        #expect(machine.takeDelivery().fields == Machine.Fields(unusedCalls: others, end: .cancelled))
        #expect(machine.cancelled() == .none && !machine.hasDelivery)
    }

    @Test("a request that has not left when the call ends is told as none")
    func notLeft() {
        var machine = Self.calling()
        #expect(machine.failed(MachineBench.refusal(), at: start) == .send(Self.choices[1]))
        #expect(machine.openRequest == nil && machine.cancelled() == .cancelTransfer)
        #expect(machine.takeDelivery().fields?.unusedCalls?.map(\.name.provider) == ["a"])
    }

    @Test("an error response is judged when its transfer ends, with the body that came")
    func errorResponse() {
        var machine = Self.calling()
        let head = TransferHead(status: 503)
        #expect(machine.received(head, at: start) == .none)
        #expect(Self.body(&machine, [1, 2]) == .none)
        #expect(Self.body(&machine, [3]) == .none)
        #expect(machine.transferEnded(.complete) == .classifyError(head, body: [1, 2, 3], of: Self.choices[0]))
        #expect(machine.failed(MachineBench.refusal(), at: start) == .send(Self.choices[1]))
        // The next attempt has no error response yet.
        #expect(Self.body(&machine, [4]) == .none)
        #expect(machine.transferEnded(.cancelled) == .fail(AttemptFailure(fault: ModelFault(kind: .cut, detail: "shut down"))))
    }

    @Test("a long error response is judged by its first 8 KiB, and a slow one by what came in time")
    func errorResponseBounds() {
        let head = TransferHead(status: 500)
        var long = Self.calling()
        _ = long.received(head, at: start)
        let half = [UInt8](repeating: 7, count: 5 << 10)
        #expect(Self.body(&long, half) == .none)
        #expect(Self.body(&long, half) == .classifyError(head, body: [UInt8](repeating: 7, count: 8 << 10), of: Self.choices[0]))

        var slow = Self.calling()
        _ = slow.received(head, at: start)
        _ = Self.body(&slow, [1])
        let result = slow.timePassed(at: start + CallLimits().refusalBody)
        #expect(result.action == .classifyError(head, body: [1], of: Self.choices[0]) && result.late == nil)
    }

    @Test("a transfer that failed without a response is the attempt's failure")
    func transferFailure() {
        var machine = Self.calling()
        let failure = TransferFailure(kind: .connect, code: 111)
        #expect(machine.transferEnded(.failed(failure)) == .fail(AttemptFailure(failure, at: "a")))
    }

    @Test("a break blames the provider only before text")
    func broken() {
        let broken = ParsedUpdate.Verdict.broken(.cut, detail: "gone")
        let fault = ModelFault(kind: .cut, detail: "a: gone")
        var early = Self.accepted()
        #expect(Self.read(&early, Self.update(verdict: broken)) == .fail(AttemptFailure(fault: fault, blamesProvider: true)))
        var late = Self.accepted()
        #expect(Self.read(&late, Self.update("Half", verdict: broken)) == .fail(AttemptFailure(fault: fault, blamesProvider: false)))
        #expect(late.hasDelivery)
    }

    @Test("an error in place of an answer takes the acceptance back; one after text, reasoning or a count, and a cut do not")
    func refusedAfterAcceptance() {
        let error = ParsedUpdate.Verdict.broken(.errorFrame, detail: "overloaded")
        let refused = UnusedCall(name: Self.choices[0].name, isAccepted: false)
        var machine = Self.accepted()
        _ = Self.read(&machine, Self.update(verdict: error))
        #expect(machine.takeDelivery().fields == Machine.Fields(unusedCalls: [refused]) && machine.openRequest == nil)
        #expect(machine.failed(MachineBench.refusal(), at: start) == .send(Self.choices[1]))
        #expect(machine.takeDelivery().fields == nil)

        var early = Self.calling()
        _ = early.received(TransferHead(status: 200), at: start)
        _ = Self.read(&early, Self.update(usage: TokenUsage(input: 0, output: 0), verdict: error))
        #expect(early.takeDelivery().fields?.unusedCalls?.map(\.isAccepted) == [false])

        var reasoning = ParsedUpdate()
        (reasoning.reasoningBytes, reasoning.verdict) = (3, error)
        let counted = Self.update(usage: Self.usage, verdict: error)
        for update in [Self.update("a", verdict: error), counted, reasoning, Self.update(verdict: .cut)] {
            var machine = Self.accepted()
            _ = Self.read(&machine, update)
            #expect(machine.openRequest?.isAccepted == true && machine.takeDelivery().fields?.unusedCalls == nil)
        }
    }

    @Test("a refusal that is billed counts once, whatever the next provider does", arguments: [true, false])
    func billedRefusal(answers: Bool) {
        let names = Self.choices.map(\.name)
        var machine = Self.calling()
        var tally = CallTally()
        func take(_ fields: Machine.Fields?) {
            tally.take(
                ModelUpdate(unusedCalls: fields?.unusedCalls, acceptedBy: fields?.acceptedBy, usage: fields?.usage, end: fields?.end))
        }
        _ = machine.received(TransferHead(status: 400), at: start)
        var blocked = MachineBench.refusal("content_filter")
        blocked.isBilled = true
        #expect(machine.failed(blocked, at: start) == .send(Self.choices[1]))
        take(machine.takeDelivery().fields)
        #expect(tally.answeredBy == nil && tally.unusedCalls == [UnusedCall(name: names[0], isAccepted: true)])
        machine.requestLeft()
        if answers {
            _ = machine.received(TransferHead(status: 200), at: start)
        } else {
            #expect(machine.failed(MachineBench.refusal(), at: start) == .cancelTransfer)
        }
        take(machine.takeDelivery().fields)
        #expect(tally.ended.answeredBy == names[answers ? 1 : 0])
        #expect(tally.ended.unusedCalls == [UnusedCall(name: names[answers ? 0 : 1], isAccepted: answers)])
    }

    @Test("when another provider takes over, the usage of the one before is void")
    func usageOfAnother() {
        var machine = Self.accepted()
        _ = Self.read(&machine, Self.update(usage: Self.usage))
        _ = machine.takeDelivery()
        #expect(machine.failed(MachineBench.refusal(), at: start) == .send(Self.choices[1]))
        machine.requestLeft()
        _ = machine.received(TransferHead(status: 200), at: start)
        let other = UnusedCall(name: Self.choices[0].name, isAccepted: true, usage: Self.usage)
        #expect(
            machine.takeDelivery().fields
                == Machine.Fields(unusedCalls: [other], acceptedBy: Self.choices[1].name, usage: TokenUsage()))
    }

    @Test("an answer beyond its bound is cut between characters, and ends the call")
    func tooLong() {
        var limits = CallLimits()
        limits.answerBytes = 3
        var machine = Self.accepted(limits: limits)
        #expect(Self.read(&machine, Self.update("éé")) == .cancelTransfer)
        let delivery = machine.takeDelivery()
        #expect(delivery.text == 2)
        let detail = "more than 3 bytes"
        #expect(delivery.fields?.end == .failed(ModelFault(kind: .tooLong, detail: detail)))
    }

    @Test("text that waits is announced as silent, once; a change of what was released is reported, once")
    func silence() {
        var machine = Self.accepted()
        _ = Self.read(&machine, Self.update("Call 1-555"))
        _ = machine.takeDelivery()
        let held = ReleaseState(isReleased: true, isHeld: true)
        #expect(machine.released(held) == true)
        #expect(machine.released(held) == false)
        #expect(machine.hasReleased)
        let result = machine.timePassed(at: start + CallLimits().held)
        #expect(result.action == .none && result.late == nil)
        #expect(machine.takeDelivery().fields == Machine.Fields(isSilent: true))
        #expect(machine.released(ReleaseState(isReleased: true)) == false)
    }

    @Test("an answer that is complete but for its end mark is finished, and blames nobody")
    func endMark() {
        for text in ["Hello", ""] {
            var machine = Self.accepted()
            var update = Self.update(text)
            update.hasFinishReason = true
            #expect(Self.read(&machine, update) == .none)
            _ = machine.takeDelivery()
            if !text.isEmpty { #expect(machine.timePassed(at: start + CallLimits().endMark).action == .none, "another text may follow") }
            let result = machine.timePassed(at: start + (text.isEmpty ? CallLimits().endMark : CallLimits().firstToken))
            #expect(result.action == .finishAnswer && result.late == nil)
            var action = Self.read(&machine, Self.update(verdict: .ended(.length)))
            if case .fail(let failure) = action { action = machine.failed(failure, at: start) }
            #expect(action == (text.isEmpty ? .send(Self.choices[1]) : .letTransferEnd), "\(text)")
            #expect(machine.takeDelivery().fields?.end == (text.isEmpty ? nil : .length))
        }
    }

    @Test("a provider that is late with its first text is to blame, one that is silent later is not")
    func late() {
        let limits = CallLimits()
        var waiting = Self.accepted()
        let first = waiting.timePassed(at: start + limits.firstToken)
        #expect(first.action == .send(Self.choices[1]))
        #expect(first.late?.fault == ModelFault(kind: .noFirstToken, detail: "a: no text in time") && first.late?.blamesProvider == true)

        var releasing = Self.accepted()
        _ = Self.read(&releasing, Self.update("Hello"))
        _ = releasing.takeDelivery()
        _ = releasing.released(ReleaseState(isReleased: true))
        let second = releasing.timePassed(at: start + limits.silence)
        #expect(second.action == .cancelTransfer && second.late == nil)
        #expect(releasing.takeDelivery().fields?.end != nil)
    }
}
