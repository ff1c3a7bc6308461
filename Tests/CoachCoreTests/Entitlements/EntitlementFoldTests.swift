import CoachCore
import JSON
import TestSupport
import Testing

@Suite("The fold of billing events")
struct EntitlementFoldTests {
    /// The states of all subscribers at every instant at which one can change, and a millisecond before and after it.
    private func states(_ fold: EntitlementFold) -> [EntitlementState] {
        let instants = Set(fold.boundaries.flatMap { [$0.advanced(by: -1), $0, $0.advanced(by: 1)] }).sorted()
        let subscribers = [
            BillingHistory.user, BillingHistory.otherUser, BillingHistory.anonymous, BillingHistory.subscriber("customer-4"),
        ]
        return subscribers.flatMap { subscriber in
            [nil, "pro", "plus"].flatMap { entitlement in
                instants.flatMap { instant in
                    [false, true].map { fold.state(of: subscriber, entitlement: entitlement, at: instant, includingSandbox: $0) }
                }
            }
        }
    }

    /// All permutations, by Heap's algorithm.
    private func forEachPermutation(_ events: [BillingEvent], _ body: ([BillingEvent]) -> Void) {
        var events = events
        func permute(_ count: Int) {
            if count <= 1 { return body(events) }
            for index in 0..<count {
                permute(count - 1)
                events.swapAt(count % 2 == 0 ? index : 0, count - 1)
            }
        }
        permute(events.count)
    }

    /// Appends the events one at a time in order of arrival, each to the stored form of the fold before; folds all again when an event is not the
    /// last in time.
    private func incremental(_ arrivals: [BillingEvent]) throws -> (fold: EntitlementFold, appended: Int) {
        var fold = EntitlementFold([])
        var seen: [BillingEvent] = []
        var appended = 0
        for event in arrivals where !seen.contains(event) {
            seen.append(event)
            fold = try EntitlementFold(parsing: fold.json.bytes)
            if fold.append(event) { appended += 1 } else { fold = EntitlementFold(seen) }
        }
        return (fold, appended)
    }

    @Test("all permutations of up to 7 events give one fold", arguments: 1...7)
    func permutations(count: Int) {
        for seed in 0..<UInt64(count == 7 ? 4 : 20) {
            var generator = HistoryGenerator(random: SeededGenerator(state: seed &* 31 &+ UInt64(count)))
            let history = generator.history(count: count)
            let expected = EntitlementFold(history)
            let expectedStates = states(expected)
            var differences = 0
            forEachPermutation(history) { permuted in
                let fold = EntitlementFold(permuted)
                if fold != expected { differences += 1 }
            }
            #expect(differences == 0, "seed \(seed)")
            #expect(states(EntitlementFold(history.reversed())) == expectedStates)
        }
    }

    @Test("10,000 shuffled and duplicated histories give the same fold as the ordered one, at once and event by event")
    func shuffles() throws {
        var differences: [String] = []
        var appended = 0
        for seed in 0..<UInt64(10_000) {
            var generator = HistoryGenerator(random: SeededGenerator(state: seed))
            let history = generator.history(count: Int.random(in: 8...30, using: &generator.random))
            let expected = EntitlementFold(history)
            var arrivals = history + history.filter { _ in Bool.random(using: &generator.random) }
            arrivals.shuffle(using: &generator.random)
            let whole = EntitlementFold(arrivals)
            if whole != expected { differences.append("whole, seed \(seed)") }
            guard seed % 10 == 0 else { continue }
            // Every second history arrives in order of time, as most real ones nearly do.
            let steps = try incremental(seed % 20 == 0 ? arrivals : history.sorted { $0.occurredAt < $1.occurredAt })
            appended += steps.appended
            if steps.fold != expected { differences.append("incremental, seed \(seed)") }
            if seed % 100 == 0, states(whole) != states(expected) || states(steps.fold) != states(expected) {
                differences.append("states, seed \(seed)")
            }
        }
        #expect(differences.prefix(5) == [])
        #expect(appended > 5_000, "too few histories exercised the incremental fold")
    }

    @Test("of different events with one id only one counts, whichever arrives first")
    func conflictingDuplicate() {
        var history = BillingHistory()
        history.add(.purchased, on: 0, from: 0, to: 30)
        var other = BillingHistory()
        other.add(.purchased, on: 1, from: 1, to: 90)
        #expect(EntitlementFold(history.events + other.events) == EntitlementFold(other.events + history.events))
        #expect(EntitlementFold(other.events + history.events) == history.fold)
    }

    @Test("an event before the last one, and one that merges known subscribers, are not appended")
    func notAppended() {
        var history = BillingHistory()
        history.add(.purchased, on: 5, from: 5, to: 30, subject: [BillingHistory.anonymous])
        history.add(.purchased, on: 6, from: 5, to: 30, subject: [BillingHistory.user])
        history.add(.identity, on: 7, subject: [BillingHistory.user, BillingHistory.anonymous])
        history.add(.renewed, on: 4, from: 4, to: 30)
        var fold = EntitlementFold([])
        #expect(fold.append(history.events[0]) && fold.append(history.events[1]))
        let before = fold
        #expect(!fold.append(history.events[2]) && !fold.append(history.events[3]) && fold == before)
    }

    @Test("500 events of one subscriber are folded in less than 5 ms", .timeLimit(.minutes(1)))
    func speed() {
        var generator = HistoryGenerator(random: SeededGenerator(state: 500))
        let history = generator.history(count: 500)
        let best = (0..<20).map { _ in ContinuousClock().measure { _ = EntitlementFold(history) } }.min()!
        #expect(best < .milliseconds(debugFactor * 5))
    }

    /// Debug builds are about ten times slower.
    private var debugFactor: Int {
        #if DEBUG
            20
        #else
            1
        #endif
    }
}
