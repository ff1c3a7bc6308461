import CoachCore
import TestSupport
import Testing
import TokenRelay

@testable import ModelProviders

@Suite("HedgeMachine")
struct HedgeMachineTests {
    private let start = MonotonicInstant.now

    private func racing() -> HedgeMachine {
        var machine = HedgeMachine()
        machine.begin(at: start, hedgingDelay: .seconds(1))
        #expect(machine.timePassed(at: start + .seconds(1)) == .beginSecond)
        return machine
    }

    @Test("a second call begins when the first is late, once, and never without a history")
    func late() {
        var machine = HedgeMachine()
        machine.begin(at: start, hedgingDelay: .seconds(1))
        #expect(machine.timePassed(at: start + .milliseconds(999)) == .none)
        #expect(machine.timePassed(at: start + .seconds(1)) == .beginSecond)
        #expect(machine.timePassed(at: start + .seconds(2)) == .none)
        machine = HedgeMachine()
        machine.begin(at: start, hedgingDelay: nil)
        #expect(machine.timePassed(at: start + .seconds(100)) == .none)
    }

    @Test("the first text decides, once", arguments: [HedgeMachine.Call.first, .second])
    func text(_ call: HedgeMachine.Call) {
        var machine = racing()
        #expect(machine.receivedText(call) == .use(call) && machine.used == call)
        #expect(machine.receivedText(call.other) == .none && machine.ended(call.other) == .none)
        #expect(machine.cancelled() == .none && machine.used == call)
    }

    @Test("a call that ends without text leaves the answer to the other one, if that runs")
    func ends() {
        for call in [HedgeMachine.Call.first, .second] {
            var machine = racing()
            #expect(machine.ended(call) == .use(call.other))
            #expect(machine.ended(call.other) == .none && machine.used == call.other)
        }
        var machine = HedgeMachine()
        machine.begin(at: start, hedgingDelay: .seconds(1))
        #expect(machine.ended(.first) == .use(.first))
        #expect(machine.timePassed(at: start + .seconds(1)) == .none)
    }

    @Test("a cancelled call begins no second one")
    func cancelled() {
        var machine = HedgeMachine()
        machine.begin(at: start, hedgingDelay: .seconds(1))
        #expect(machine.cancelled() == .use(.first))
        #expect(machine.timePassed(at: start + .seconds(1)) == .none)
    }
}

@Suite("Times to the first text")
struct LatencyHistoryTests {
    @Test("the usual time is that of 95 of 100 answers, of the last ones, and not known of a few")
    func p95() {
        var history = LatencyHistory()
        for time in 1..<LatencyHistory.enough { history.add(.milliseconds(time)) }
        #expect(history.p95 == nil)
        history.add(.milliseconds(20))
        #expect(history.p95 == .milliseconds(19))
        for _ in 0..<LatencyHistory.size { history.add(.seconds(2)) }
        #expect(history.p95 == .seconds(2))
    }

    @Test("the mean follows a change")
    func mean() throws {
        var history = LatencyHistory()
        #expect(history.mean == nil)
        history.add(.milliseconds(100))
        #expect(history.mean == .milliseconds(100))
        for _ in 0..<30 { history.add(.milliseconds(500)) }
        #expect(try #require(history.mean) > .milliseconds(490))
    }

    @Test("the fastest neighbour comes first, one without a time before it, and another one now and then")
    func order() {
        func choice(_ name: String, _ isFast: Bool = true) -> ModelChoice {
            ModelChoice(name: ModelName(provider: name, model: "m"), wantsLeastLatency: isFast)
        }
        let choices = [choice("first", false), choice("slow"), choice("fast"), choice("last", false)]
        var times: [String: Duration] = ["slow": .seconds(2), "fast": .seconds(1)]
        var random = SeededGenerator(state: 3)
        var counts: [[String]: Int] = [:]
        for _ in 0..<2000 {
            let order = choices.fastestFirst({ times[$0.provider] }, using: &random).map(\.name.provider)
            counts[order, default: 0] += 1
        }
        // Half of the explorations draw the fast one.
        let explored = counts[["first", "slow", "fast", "last"]] ?? 0
        #expect(counts.count == 2 && (25...80).contains(explored), "\(counts)")
        times["slow"] = nil
        let order = choices.fastestFirst({ times[$0.provider] }, using: &random).map(\.name.provider)
        #expect(Set(order) == ["first", "slow", "fast", "last"])
        #expect(choices.filter { !$0.wantsLeastLatency }.fastestFirst({ _ in nil }, using: &random).count == 2)
    }
}
