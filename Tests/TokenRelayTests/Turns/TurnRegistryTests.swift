import CoachCore
import Synchronization
import Testing

@testable import TokenRelay

@Suite("TurnRegistry")
struct TurnRegistryTests {
    @Test("drained waits until the last turn is removed")
    func drain() async {
        let registry = TurnRegistry()
        await registry.drained()
        let turn = LiveTurn(facts: .sample)
        registry.insert(turn)
        #expect(registry.turn(turn.facts.identity.turnID) === turn)
        async let drained: Void = registry.drained()
        registry.remove(turn)
        await drained
        #expect(registry.count == 0)
    }

    @Test("turn(within:) returns a turn when it is inserted, and nil after its time limit")
    func arrival() async {
        let registry = TurnRegistry()
        let turn = LiveTurn(facts: .sample)
        let id = turn.facts.identity.turnID
        #expect(await registry.turn(id, within: .milliseconds(1)) == nil)
        async let first = registry.turn(id, within: .seconds(60))
        async let second = registry.turn(id, within: .seconds(60))
        registry.insert(turn)
        let (one, two) = await (first, second)
        #expect(one === turn && two === turn)
    }

    @Test("a turn that is to stop before it is inserted is stopped when it is; another one is not")
    func stoppedBefore() {
        let registry = TurnRegistry()
        let (stopped, other, late) = (LiveTurn(facts: .sample), LiveTurn(facts: .sample), LiveTurn(facts: .sample))
        for turn in [stopped, other] { registry.announce(turn.facts.identity.turnID, of: turn.facts.userID) }
        registry.stop(stopped.facts.identity.turnID)
        registry.stop(late.facts.identity.turnID)
        for turn in [stopped, other, late] { registry.insert(turn) }
        #expect(stopped.isStopping && !other.isStopping && !late.isStopping)
        registry.stop(other.facts.identity.turnID)
        #expect(other.isStopping)
    }

    @Test("what waits for a stop before the turn is inserted learns of it once, also when it came first")
    func stopListener() {
        let registry = TurnRegistry()
        let (early, late) = (LiveTurn(facts: .sample).facts, LiveTurn(facts: .sample).facts)
        let stops = Mutex<[TurnID]>([])
        for facts in [early, late] { registry.announce(facts.identity.turnID, of: facts.userID) }
        #expect(registry.isAnnounced(early.identity.turnID, of: early.userID))
        #expect(!registry.isAnnounced(early.identity.turnID, of: late.userID))
        registry.onStop(of: late.identity.turnID) { stops.withLock { $0.append(late.identity.turnID) } }
        for _ in 1...2 { for facts in [early, late] { registry.stop(facts.identity.turnID) } }
        #expect(stops.withLock { $0 } == [late.identity.turnID])
        registry.onStop(of: early.identity.turnID) { stops.withLock { $0.append(early.identity.turnID) } }
        #expect(stops.withLock { $0 } == [late.identity.turnID, early.identity.turnID])
    }

    @Test("drained returns when its task is cancelled")
    func cancelledWait() async {
        let registry = TurnRegistry()
        registry.insert(LiveTurn(facts: .sample))
        let task = Task { await registry.drained() }
        task.cancel()
        await task.value
    }

    @Test("ending(within:) returns the end when it is saved, and nil after its time limit")
    func ending() async {
        let turn = LiveTurn(facts: .sample)
        #expect(await turn.ending(within: .milliseconds(1)) == nil)
        async let ending = turn.ending(within: .seconds(60))
        turn.close(.sample)
        #expect(await ending?.status == TurnEnding.sample.status)
        #expect(await turn.ending(within: .zero) != nil)
        #expect(!turn.hasSubscribers)
    }
}
