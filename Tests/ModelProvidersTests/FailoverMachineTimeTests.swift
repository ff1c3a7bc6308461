import CoachCore
import TestSupport
import Testing
import TokenRelay

@testable import ModelProviders

@Suite("FailoverMachine, its limits of time")
struct FailoverMachineTimeTests {
    typealias Bench = MachineBench
    let start = MachineBench.start

    @Test("a provider gets six seconds to its first text", arguments: ["requesting", "accepted"])
    func firstToken(_ stage: String) {
        var machine = Bench.at(stage, choices: 2)
        #expect(machine.deadline == start + .seconds(6))
        #expect(machine.timePassed(at: start + .milliseconds(5999)) == .none)
        #expect(machine.timePassed(at: start + .seconds(6)) == .attempt(1))
        #expect(machine.deadline == start + .seconds(12))
    }

    @Test("reasoning moves the limit of its provider's first text, within that over all")
    func reasoning() {
        var machine = Bench.at("accepted", choices: 2)
        for second in 1...14 {
            machine.receivedReasoning(at: start + .seconds(second))
            #expect(machine.timePassed(at: start + .seconds(second)) == .none)
        }
        #expect(machine.deadline == start + .seconds(15))
        #expect(machine.timePassed(at: start + .seconds(15)).fault == .noFirstToken)
        machine = Bench.at("accepted", choices: 2)
        machine.receivedReasoning(at: start + .seconds(2))
        #expect(machine.timePassed(at: start + .seconds(8)) == .attempt(1))
        let before = machine
        machine.receivedReasoning(at: start + .seconds(9))
        #expect(machine == before, "a late one of a request that was given up")
    }

    @Test("reasoning after text is no silence, but does not hold back text that waits")
    func reasoningAfterText() {
        for (stage, limit) in [("unreleased", 6), ("releasing", 20)] {
            var machine = Bench.at(stage, choices: 2)
            machine.receivedReasoning(at: start + .seconds(5))
            #expect(machine.deadline == start + .seconds(5 + limit))
            machine.released(ReleaseState(isReleased: stage == "releasing", isHeld: true))
            machine.receivedReasoning(at: start + .seconds(5.5))
            #expect(machine.timePassed(at: start + .seconds(6)) == .releaseHeld)
        }
    }

    @Test("a lone hanging provider is not asked again")
    func loneHanging() {
        var machine = Bench.at("requesting")
        let end = machine.timePassed(at: start + .seconds(6))
        #expect(end == .end(.failed(ModelFault(kind: .noFirstToken, detail: "a: no text within 6.0 seconds"))))
    }

    @Test("all providers together get fifteen seconds")
    func overall() {
        var machine = Bench.at("requesting", choices: 4)
        #expect(machine.timePassed(at: start + .seconds(6)) == .attempt(1))
        #expect(machine.timePassed(at: start + .seconds(12)) == .attempt(2))
        #expect(machine.deadline == start + .seconds(15))
        #expect(machine.timePassed(at: start + .seconds(15)).fault == .noFirstToken)
    }

    @Test("a refusal after the overall limit ends the call")
    func lateRefusal() {
        var machine = Bench.at("requesting", choices: 4)
        #expect(machine.failed(Bench.refusal(), at: start + .seconds(15)).fault == .refused)
    }

    @Test("silence is counted from the last text")
    func silence() {
        var machine = Bench.at("releasing")
        #expect(machine.deadline == start + .seconds(20))
        _ = machine.receivedText(1, at: start + .seconds(19))
        #expect(machine.timePassed(at: start + .seconds(20)) == .none)
        #expect(machine.timePassed(at: start + .seconds(39)).fault == .stalled)
    }

    @Test("an answer whose finish reason is known ends after two seconds without its end mark")
    func endMark() {
        for stage in ["accepted", "unreleased", "releasing"] {
            var machine = Bench.at(stage, choices: 2)
            machine.receivedFinishReason(at: start + .seconds(4))
            machine.receivedFinishReason(at: start + .seconds(5))
            #expect(machine.deadline == start + .seconds(6), "\(stage)")
            #expect(machine.timePassed(at: start + .seconds(6)) == .finishAnswer)
            let failure = machine.failure(of: .length)
            #expect((failure == nil) == (stage != "accepted"), "\(stage)")
            let next = failure.map { machine.failed($0, at: start + .seconds(6)) } ?? machine.finished(.length)
            #expect(next == (stage == "accepted" ? .attempt(1) : .end(.length)), "\(stage)")
        }
    }

    @Test("text behind a finish reason, or with it, may be followed by more: only silence shows that it was the last")
    func repeatedFinishReason() {
        var machine = Bench.at("releasing")
        machine.receivedFinishReason(at: start)
        _ = machine.receivedText(1, at: start + .seconds(1))
        #expect(machine.deadline == start + .seconds(21))
        machine.receivedFinishReason(at: start + .seconds(1), withText: true)
        #expect(machine.deadline == start + .seconds(21))
        // One that waits is released first.
        machine.released(ReleaseState(isReleased: true, isHeld: true))
        #expect(machine.timePassed(at: start + .seconds(2)) == .releaseHeld)
        #expect(machine.timePassed(at: start + .seconds(20)) == .none)
        #expect(machine.timePassed(at: start + .seconds(21)) == .finishAnswer)
    }

    @Test("the whole turn is bounded, however lively it is")
    func turn() {
        var machine = Bench.at("releasing")
        _ = machine.receivedText(1, at: start + .seconds(170))
        #expect(machine.deadline == start + .seconds(180))
        #expect(machine.timePassed(at: start + .seconds(180)).fault == .timeLimit)
    }

    @Test("limits shorter than each other are kept too")
    func oddLimits() {
        let limits = CallLimits(firstToken: .seconds(9), firstTokenOverall: .seconds(5), silence: .seconds(9), turn: .seconds(3))
        var machine = Bench.idle(choices: 2, limits: limits)
        _ = machine.begin(at: start)
        #expect(machine.deadline == start + .seconds(3))
        #expect(machine.timePassed(at: start + .seconds(3)).fault == .timeLimit)
        machine = Bench.idle(choices: 2, limits: CallLimits(firstToken: .milliseconds(100)))
        _ = machine.begin(at: start)
        _ = machine.refused(at: start)
        #expect(machine.timePassed(at: start + .milliseconds(100)) == .attempt(1))
    }

    @Test("time counts from begin, not from the making of the machine")
    func lateBegin() {
        var machine = Bench.at("idle")
        _ = machine.begin(at: start + .seconds(100))
        #expect(machine.deadline == start + .seconds(106))
    }

    @Test("a lone provider is not asked again when its second refusal would come later than three seconds")
    func promise() {
        var machine = Bench.at("requesting")
        #expect(machine.failed(Bench.refusal(mayRetry: true), at: start + .milliseconds(1099)) == .pause)
        machine = Bench.at("requesting")
        #expect(machine.failed(Bench.refusal(mayRetry: true), at: start + .milliseconds(1100)).fault == .refused)
    }

    @Test("the provider's own pause is kept, if there is time for it")
    func retryAfter() {
        var machine = Bench.at("requesting")
        #expect(machine.failed(Bench.refusal(mayRetry: true, retryAfter: .seconds(1)), at: start) == .pause)
        #expect(machine.deadline == start + .seconds(1))
        machine = Bench.at("requesting")
        #expect(machine.failed(Bench.refusal(mayRetry: true, retryAfter: .seconds(2)), at: start).fault == .refused)
    }
}
