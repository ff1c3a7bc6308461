import CoachCore
import TestSupport
import Testing
import TokenRelay

@testable import ModelProviders

@Suite("ProviderHealth")
struct ProviderHealthTests {
    private let failure = MachineBench.refusal("x")
    private static let noMoney: AttemptFailure = {
        var failure = MachineBench.refusal("one: HTTP 402")
        failure.needsOperator = true
        return failure
    }()

    @Test("a provider without money or with a wrong key is set aside at once, and an operator is told once")
    func alarms() {
        let events = Recorder()
        let health = ProviderHealth { events.add($0) }
        let (one, two) = (ModelChoice.of("one"), ModelChoice.of("two"))
        let now = MonotonicInstant.now
        for _ in 0..<2 { health.noteFailure(of: one.name, Self.noMoney, at: now) }
        #expect(health.order([one, two], at: now).map(\.name.provider) == ["two", "one"])
        #expect(events.all == [.circuitOpened(one.name, needsOperator: true, detail: "one: HTTP 402")])
        health.noteSuccess(of: one.name, after: .seconds(1))
        #expect(events.all.last == .circuitClosed(one.name))
        #expect(health.order([one, two], at: now).map(\.name.provider) == ["one", "two"])
    }

    @Test("an operator is told of a lack of money also when other failures have opened the circuit, and once until the model answers")
    func lateAlarm() {
        let events = Recorder()
        let health = ProviderHealth { events.add($0) }
        let one = ModelChoice.of("one")
        var now = MonotonicInstant.now
        func alarms() -> Int { events.all.count { $0 == .circuitOpened(one.name, needsOperator: true, detail: "one: HTTP 402") } }
        for _ in 0..<CircuitBreaker.failuresToOpen { health.noteFailure(of: one.name, failure, at: now) }
        health.noteFailure(of: one.name, Self.noMoney, at: now)
        #expect(alarms() == 1)
        now = now + CircuitBreaker.cooldownForOperator
        _ = health.order([one], at: now)
        health.noteFailure(of: one.name, Self.noMoney, at: now)
        #expect(alarms() == 1 && events.all.last == .circuitReopened(one.name))
        health.noteSuccess(of: one.name, after: .seconds(1))
        for _ in 0..<CircuitBreaker.failuresToOpen { health.noteFailure(of: one.name, failure, at: now) }
        now = now + CircuitBreaker.cooldown
        _ = health.order([one], at: now)
        health.noteFailure(of: one.name, Self.noMoney, at: now)
        #expect(alarms() == 2)
    }

    @Test("a model whose provider has asked for a pause is tried after the others until then")
    func pauses() {
        let health = ProviderHealth()
        let (one, two) = (ModelChoice.of("one"), ModelChoice.of("two"))
        let now = MonotonicInstant.now
        func order(after seconds: Int) -> [String] { health.order([one, two], at: now + .seconds(seconds)).map(\.name.provider) }
        health.noteFailure(of: one.name, MachineBench.refusal(retryAfter: .seconds(30)), at: now)
        #expect(order(after: 29) == ["two", "one"] && order(after: 30) == ["one", "two"])
        var failure = MachineBench.refusal()
        failure.keyCooldown = .seconds(60)
        health.noteFailure(of: one.name, failure, at: now)
        #expect(order(after: 59) == ["two", "one"])
        health.noteSuccess(of: one.name, after: .seconds(1))
        #expect(order(after: 59) == ["one", "two"])
        failure.hasAnotherKey = true
        health.noteFailure(of: one.name, failure, at: now)
        #expect(order(after: 1) == ["one", "two"])
    }

    @Test("a cooldown is as long as the provider wants: text of an earlier call or a shorter wish does not end it, and it uses up no probe")
    func cooldown() {
        let health = ProviderHealth()
        let (one, two) = (ModelChoice.of("one"), ModelChoice.of("two"))
        let now = MonotonicInstant.now
        func fail(_ seconds: Int?, after delay: Int = 0) {
            var failure = MachineBench.refusal()
            failure.cooldown = seconds.map { .seconds($0) }
            health.noteFailure(of: one.name, failure, at: now + .seconds(delay))
        }
        func isCoolingDown(after seconds: Int) -> Bool { health.isCoolingDown(one.name, at: now + .seconds(seconds)) }
        func order(after seconds: Int) -> [String] { health.order([one, two], at: now + .seconds(seconds)).map(\.name.provider) }
        fail(nil)
        #expect(!isCoolingDown(after: 0))
        for _ in 1..<CircuitBreaker.failuresToOpen { fail(30) }
        fail(5)
        health.noteSuccess(of: two.name, after: .seconds(1))
        #expect(isCoolingDown(after: 29) && !isCoolingDown(after: 30) && !health.isCoolingDown(two.name, at: now))
        // The circuit's own cooldown is over after ten seconds, the provider's is not.
        #expect(order(after: 29) == ["two", "one"] && order(after: 30) == ["one", "two"])
        #expect(order(after: 31) == ["two", "one"], "one probe is on its way")
        fail(30, after: 31)
        health.noteSuccess(of: one.name, after: .seconds(1))
        #expect(isCoolingDown(after: 60) && order(after: 60) == ["two", "one"] && order(after: 61) == ["one", "two"])
    }

    @Test("a circuit reports when it opens, is probed, opens again and closes")
    func circuits() {
        let events = Recorder()
        let health = ProviderHealth { events.add($0) }
        let one = ModelChoice.of("one")
        var now = MonotonicInstant.now
        for _ in 0...CircuitBreaker.failuresToOpen { health.noteFailure(of: one.name, failure, at: now) }
        _ = health.order([one], at: now)
        now = now + CircuitBreaker.cooldown
        _ = health.order([one], at: now)
        _ = health.order([one], at: now)
        health.noteFailure(of: one.name, failure, at: now)
        _ = health.order([one], at: now + CircuitBreaker.cooldown)
        health.noteSuccess(of: one.name, after: .milliseconds(1))
        let name = one.name
        #expect(
            events.all == [
                .circuitOpened(name, needsOperator: false, detail: "x"), .circuitProbed(name), .circuitReopened(name), .circuitProbed(name),
                .circuitClosed(name),
            ])
        #expect(events.ends == CircuitBreaker.failuresToOpen + 3)
    }

    @Test("an open circuit counts as closed once its model has not failed for a while, as when another one answers every call")
    func readings() {
        let (name, unknown) = (ModelChoice.of("one").name, ModelChoice.of("two").name)
        let now = MonotonicInstant.now
        var readings = CircuitReadings(of: [name, unknown])
        func state(after time: Duration) -> CircuitState? { readings.states(at: now + time)[name] }
        #expect(readings.states(at: now) == [name: .closed, unknown: .closed])
        readings.take(.circuitOpened(name, needsOperator: true, detail: "x"), at: now)
        let (last, memory) = (CircuitReadings.memory - .seconds(1), CircuitReadings.memory)
        #expect(state(after: .zero) == .open && state(after: last) == .open && state(after: memory) == .closed)
        // A call that has no other model left fails, and opens nothing anew.
        readings.take(.requestEnded(name, .failed), at: now + last)
        #expect(state(after: memory) == .open && state(after: last + memory) == .closed)
        readings.take(.requestEnded(name, .failed), at: now + memory + memory)
        #expect(state(after: memory + memory) == .open, "it fails again")
        readings.take(.circuitProbed(name), at: now + memory)
        #expect(state(after: memory) == .halfOpen)
        readings.take(.circuitReopened(name), at: now + memory)
        #expect(state(after: memory) == .open)
        readings.take(.circuitClosed(name), at: now + memory)
        readings.take(.requestEnded(name, .failed), at: now + memory)
        #expect(state(after: memory) == .closed)
    }

    @Test("a provider's models have circuits of their own")
    func circuitsOfModels() {
        let health = ProviderHealth()
        let failing = ModelChoice.of("one")
        var sound = failing
        sound.name.model = "n"
        let now = MonotonicInstant.now
        for _ in 0...CircuitBreaker.failuresToOpen { health.noteFailure(of: failing.name, failure, at: now) }
        #expect(health.order([failing, sound], at: now).map(\.name) == [sound.name, failing.name])
    }

    @Test("a choice whose keys are all refused uses up no probe: it is passed over, and is probed once it has a key")
    func unusedProbe() async throws {
        try await CallBench.run(.quick(), .quick()) { bench in
            let router = bench.router
            let (first, now) = (router.route.first.name, MonotonicInstant.now)
            func order(after seconds: Int) async -> [String] {
                await withCheckedContinuation { continuation in
                    router.transfers.bind(ProviderHealth()).submit { _ in
                        continuation.resume(returning: router.order(at: now + .seconds(seconds)).map(\.name.provider))
                    }
                }
            }
            await withCheckedContinuation { continuation in
                router.transfers.bind(ProviderHealth()).submit { _ in
                    for _ in 1...CircuitBreaker.failuresToOpen { router.health.noteFailure(of: first, failure, at: now) }
                    continuation.resume()
                }
            }
            #expect(await order(after: 9) == ["two", "one"])
            _ = router.keys.coolDown("sk-canary", of: "one", for: .seconds(15), isRefused: true, at: now)
            for seconds in [10, 14] { #expect(await order(after: seconds) == ["two", "one"]) }
            #expect(await order(after: 15) == ["one", "two"])
            #expect(await order(after: 16) == ["two", "one"], "one probe is on its way")
        }
    }

    private final class Recorder: @unchecked Sendable {
        // Used by one thread.
        var all: [ProviderEvent] = []
        var ends = 0
        func add(_ event: ProviderEvent) {
            if case .requestEnded = event { ends += 1 } else { all.append(event) }
        }
    }
}
