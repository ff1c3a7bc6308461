import CoachCore
import TestSupport
import Testing
import TokenRelay

@testable import ModelProviders

@Suite("FailoverMachine, events that do not fit its state")
struct FailoverMachineOrderTests {
    typealias Bench = MachineBench
    let start = MachineBench.start

    @Test("begin counts once", arguments: MachineBench.stages.filter { $0 != "idle" })
    func secondBegin(_ stage: String) {
        var machine = Bench.at(stage)
        let before = machine
        #expect(machine.begin(at: start + .seconds(1)) == .none)
        #expect(machine == before)
    }

    @Test("a head that is not awaited is ignored", arguments: MachineBench.stages.filter { $0 != "requesting" })
    func lateHead(_ stage: String) {
        var machine = Bench.at(stage)
        let before = machine
        #expect(machine.accepted() == false)
        #expect(machine.refused(at: start) == .none)
        #expect(machine == before)
    }

    @Test("text that is not awaited is ignored", arguments: ["idle", "requesting", "refusing", "pausing", "ended"])
    func lateText(_ stage: String) {
        var machine = Bench.at(stage)
        let before = machine
        #expect(machine.receivedText(1, at: start) == .nothing)
        #expect(machine.reachedBound() == .none)
        #expect(machine == before)
    }

    @Test("an end that is not awaited is ignored", arguments: ["idle", "requesting", "refusing", "pausing", "ended"])
    func lateEnd(_ stage: String) {
        var machine = Bench.at(stage)
        let before = machine
        for end in [ModelEnd.stop, .length, .filtered] { #expect(machine.failure(of: end) == nil && machine.finished(end) == .none) }
        #expect(machine == before)
    }

    @Test("a failure that is not awaited is ignored", arguments: ["idle", "pausing", "ended"])
    func lateFailure(_ stage: String) {
        var machine = Bench.at(stage)
        let before = machine
        #expect(machine.failed(Bench.refusal(mayRetry: true), at: start) == .none)
        #expect(machine == before)
    }

    @Test("text of which nothing was released does not keep another provider from answering")
    func unreleased() {
        var machine = Bench.at("unreleased", choices: 2)
        #expect(machine.hasText && !machine.hasReleased)
        #expect(machine.failed(Bench.refusal(), at: start) == .attempt(1))
        machine = Bench.at("unreleased", choices: 2)
        #expect(machine.deadline == start + .seconds(6))
        #expect(machine.timePassed(at: start + .seconds(6)) == .attempt(1))
        machine = Bench.at("unreleased")
        #expect(machine.timePassed(at: start + .seconds(6)).fault == .stalled)
        machine = Bench.at("unreleased", choices: 2)
        #expect(machine.finished(.stop) == .end(.stop))
    }

    @Test("text that waits is to be released after a second of silence, once")
    func held() {
        for stage in ["unreleased", "releasing"] {
            var machine = Bench.at(stage, choices: 2)
            let before = machine.deadline
            machine.released(ReleaseState(isReleased: stage == "releasing", isHeld: true))
            #expect(machine.deadline == start + .seconds(1))
            #expect(machine.timePassed(at: start + .milliseconds(999)) == .none)
            #expect(machine.timePassed(at: start + .seconds(1)) == .releaseHeld)
            #expect(machine.deadline == before)
        }
    }

    @Test("the bound is reached only by text", arguments: MachineBench.stages.filter { !["unreleased", "releasing"].contains($0) })
    func bound(_ stage: String) {
        var machine = Bench.at(stage)
        #expect(machine.reachedBound() == .none)
    }

    @Test("a clock that is early changes nothing", arguments: MachineBench.stages)
    func earlyClock(_ stage: String) {
        var machine = Bench.at(stage)
        let before = machine
        #expect(machine.timePassed(at: start) == .none)
        #expect(machine == before)
    }

    @Test("in whatever order inputs come, a call ends once and nothing follows", arguments: 0..<300)
    func random(_ seed: Int) {
        var random = SeededGenerator(state: UInt64(seed))
        var machine = Bench.idle(choices: 1 + seed % 3, limits: CallLimits())
        var now = start
        var ends = 0
        for _ in 0..<200 {
            now = now + .milliseconds(Int(random.next() % 3000))
            let action: FailoverMachine.Action
            let wasEnded = machine.isEnded
            if random.next() % 4 == 0 { machine.receivedReasoning(at: now) }
            switch random.next() % 10 {
            case 9:
                machine.released(ReleaseState(isReleased: random.next() % 2 == 0, isHeld: random.next() % 2 == 0))
                action = .none
            case 0: action = machine.begin(at: now)
            case 1: action = machine.accepted() ? .none : .none
            case 2: action = machine.refused(at: now)
            case 3: action = machine.receivedText(Int(random.next() % 100) + 1, at: now) == .all ? .none : machine.reachedBound()
            case 4: action = machine.failure(of: .stop).map { machine.failed($0, at: now) } ?? machine.finished(.stop)
            case 5: action = machine.failed(Bench.refusal(mayRetry: random.next() % 2 == 0), at: now)
            case 6 where random.next() % 8 == 0: action = machine.cancelled()
            default: action = machine.timePassed(at: now)
            }
            if wasEnded { #expect(action == .none) }
            if case .end = action { ends += 1 }
            if case .attempt(let index) = action { #expect(index < 1 + seed % 3) }
            #expect(
                (machine.deadline == nil)
                    == (machine.isEnded || machine == Bench.idle(choices: 1 + seed % 3, limits: CallLimits())))
        }
        #expect(ends == (machine.isEnded ? 1 : 0))
    }
}
