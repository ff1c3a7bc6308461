import CoachCore
import Foundation
import Reactor
import TestSupport
import Testing
import TokenRelay

@testable import ModelProviders

@Suite("Which provider is tried when")
struct RouteChoiceTests {
    private func choice(_ name: String, weight: Int? = nil) -> ModelChoice {
        ModelChoice(name: ModelName(provider: name, model: "m"), weight: weight)
    }

    @Test("weighted neighbours come first as often as their weights say; the others stay where they are")
    func weights() {
        var random = SeededGenerator(state: 7)
        let choices = [choice("first"), choice("a", weight: 3), choice("b", weight: 1), choice("last")]
        var counts: [String: Int] = [:]
        for _ in 0..<4000 {
            let drawn = choices.drawn(using: &random).map(\.name.provider)
            #expect(drawn.first == "first" && drawn.last == "last" && Set(drawn).count == 4)
            counts[drawn[1], default: 0] += 1
        }
        #expect((2850...3150).contains(counts["a"] ?? 0), "\(counts)")
        #expect([choice("x"), choice("y")].drawn(using: &random).map(\.name.provider) == ["x", "y"])
    }

    @Test("a provider without money or with a wrong key is set aside at once, and an operator is told once")
    func alarms() {
        let events = Recorder()
        let health = ProviderHealth { events.add($0) }
        let (one, two) = (choice("one"), choice("two"))
        let now = MonotonicInstant.now
        let failure = AttemptFailure(
            fault: ModelFault(kind: .refused, detail: "one: HTTP 402"), blamesProvider: true, needsOperator: true)
        health.noteFailure(of: one.name, failure, at: now)
        health.noteFailure(of: one.name, failure, at: now)
        #expect(health.order([one, two], at: now).map(\.name.provider) == ["two", "one"])
        #expect(events.all == [.circuitOpened(one.name, needsOperator: true, detail: "one: HTTP 402")])
        health.noteSuccess(of: one.name, after: .seconds(1))
        #expect(events.all.last == .circuitClosed(one.name))
        #expect(health.order([one, two], at: now).map(\.name.provider) == ["one", "two"])
    }

    @Test("a lack of money is told also when other failures have opened the circuit, once until the model answers")
    func lateAlarm() {
        let events = Recorder()
        let health = ProviderHealth { events.add($0) }
        let one = choice("one")
        let late = AttemptFailure(fault: ModelFault(kind: .refused, detail: "x"), blamesProvider: true)
        let broke = AttemptFailure(
            fault: ModelFault(kind: .refused, detail: "one: HTTP 402"), blamesProvider: true, needsOperator: true)
        var now = MonotonicInstant.now
        func alarms() -> Int { events.all.count { $0 == .circuitOpened(one.name, needsOperator: true, detail: "one: HTTP 402") } }
        for _ in 0..<CircuitBreaker.failuresToOpen { health.noteFailure(of: one.name, late, at: now) }
        health.noteFailure(of: one.name, broke, at: now)
        #expect(alarms() == 1)
        now = now + CircuitBreaker.cooldownForOperator
        _ = health.order([one], at: now)
        health.noteFailure(of: one.name, broke, at: now)
        #expect(alarms() == 1 && events.all.last == .circuitReopened(one.name))
        health.noteSuccess(of: one.name, after: .seconds(1))
        for _ in 0..<CircuitBreaker.failuresToOpen { health.noteFailure(of: one.name, late, at: now) }
        now = now + CircuitBreaker.cooldown
        _ = health.order([one], at: now)
        health.noteFailure(of: one.name, broke, at: now)
        #expect(alarms() == 2)
    }

    @Test("a model whose provider has asked for a pause is tried after the others until then")
    func pauses() {
        let health = ProviderHealth()
        let (one, two) = (choice("one"), choice("two"))
        let now = MonotonicInstant.now
        func order(after seconds: Int) -> [String] { health.order([one, two], at: now + .seconds(seconds)).map(\.name.provider) }
        health.noteFailure(
            of: one.name, AttemptFailure(fault: ModelFault(kind: .refused, detail: "x"), retryAfter: .seconds(30), blamesProvider: true),
            at: now)
        #expect(order(after: 29) == ["two", "one"] && order(after: 30) == ["one", "two"])
        health.noteFailure(
            of: one.name, AttemptFailure(fault: ModelFault(kind: .refused, detail: "x"), blamesProvider: true, keyCooldown: .seconds(60)),
            at: now)
        #expect(order(after: 59) == ["two", "one"])
        health.noteSuccess(of: one.name, after: .seconds(1))
        #expect(order(after: 59) == ["one", "two"])
        let other = AttemptFailure(
            fault: ModelFault(kind: .refused, detail: "x"), blamesProvider: true, keyCooldown: .seconds(60), hasAnotherKey: true)
        health.noteFailure(of: one.name, other, at: now)
        #expect(order(after: 1) == ["one", "two"])
    }

    @Test(
        "a model's cooldown is as long as its provider wants; no earlier call's text nor shorter wish ends it, and it uses up no probe")
    func cooldown() {
        let health = ProviderHealth()
        let (one, two) = (choice("one"), choice("two"))
        let now = MonotonicInstant.now
        func fail(_ seconds: Int?, after delay: Int = 0) {
            let cooldown = seconds.map { Duration.seconds($0) }
            health.noteFailure(
                of: one.name, AttemptFailure(fault: ModelFault(kind: .refused, detail: "x"), cooldown: cooldown, blamesProvider: true),
                at: now + .seconds(delay))
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
        let one = choice("one")
        let failure = AttemptFailure(fault: ModelFault(kind: .refused, detail: "x"), blamesProvider: true)
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

    @Test("a provider's models have circuits of their own")
    func circuitsOfModels() {
        let health = ProviderHealth()
        let failing = choice("one")
        var sound = failing
        sound.name.model = "n"
        let failure = AttemptFailure(fault: ModelFault(kind: .refused, detail: "x"), blamesProvider: true)
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
                    let failure = AttemptFailure(fault: ModelFault(kind: .refused, detail: "x"), blamesProvider: true)
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

    // MARK: Routes

    private static let persona = PersonaID.random()

    private static let routes = """
        {"providers": {"p": {"dialect": "openai", "base_url": "https://p.test"}},
         "routes": {"default": [{"provider": "p", "model": "standard", "max_output_tokens": 5},
                                {"provider": "p", "model": "small", "max_output_tokens": 5}],
                    "tier.paid": [{"provider": "p", "model": "large", "max_output_tokens": 5}],
                    "domain.relationships": [{"provider": "p", "model": "warm", "max_output_tokens": 5}],
                    "persona.\(persona)": [{"provider": "p", "model": "own", "max_output_tokens": 5}]}}
        """

    @Test(
        "the route is the persona's, else the domain's, else the tier's, else the default one; the first that has models of the tier, and only those"
    )
    func routes() throws {
        let (read, findings) = ModelConfiguration.read(Data(Self.routes.utf8), environment: [:])
        #expect(findings == [])
        let configuration = try #require(read)
        let models = TierModels.routes(
            configuration: configuration, keys: ProviderKeys(of: configuration, environment: [:]),
            transfers: TransferClient(reactor: try Reactor(name: "routes")))
        func model(_ tier: Tier, _ domain: Domain? = nil, _ persona: PersonaID? = nil) -> String {
            models.model(tier, domain, persona).firstChoice.model
        }
        #expect(model(Tier("free")) == "standard" && model(Tier("free"), .mindset, .random()) == "standard")
        #expect(model(Tier("free", models: ["small"])) == "small" && model(Tier("free", models: ["none"])) == "standard")
        #expect(model(Tier("paid")) == "large" && model(Tier("paid", models: ["small"])) == "small")
        let large = Tier("paid", models: ["large"])
        #expect(model(large, .relationships) == "large" && model(large, .relationships, Self.persona) == "large")
        #expect(model(Tier("free", models: ["warm", "small"]), .relationships) == "warm")
        #expect(model(Tier("paid"), .relationships) == "warm")
        #expect(model(Tier("paid"), .relationships, Self.persona) == "own")
    }

    @Test("every route of which a tier may use no model is named, with what answers instead")
    func unusable() throws {
        let configuration = try #require(ModelConfiguration.read(Data(Self.routes.utf8), environment: [:]).configuration)
        func lines(_ tier: Tier) -> [String] {
            TierModels.unusable(TierBook([tier]), in: configuration).map {
                String($0.dropFirst("tiers: \(tier.name): none of its models ".count))
            }
        }
        #expect(lines(Tier("paid")) == [])
        #expect(
            lines(Tier("paid", models: ["large", "own"])) == [
                "can be used in the default route, so it gets those of another route",
                "can be used in domain.relationships, so it gets those of another route",
            ])
        #expect(
            lines(Tier("free", models: ["warm"])) == [
                "can be used in the default route, so it gets all of them",
                "can be used in persona.\(Self.persona), so it gets all of them",
            ])
    }
}
