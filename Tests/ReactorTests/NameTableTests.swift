import Testing

@testable import Reactor

@Suite("NameTable")
struct NameTableTests {
    private let start = ContinuousClock.now

    private func table(lookups: Int = 2, capacity: Int = 2) -> NameTable<Int> {
        NameTable(
            .init(freshness: .seconds(60), staleness: .seconds(3600), retryInterval: .seconds(5), capacity: capacity, lookups: lookups))
    }

    @Test("concurrent requests share one lookup, and its answer is used without a new lookup while it is fresh")
    func shared() {
        var table = table()
        #expect(table.lookUp("a", 1, at: start) == .startLookup)
        #expect(table.lookUp("a", 2, at: start) == .wait)
        #expect(table.answered("a", ["1.1.1.1"], at: start).waiters == [1, 2])
        #expect(table.lookUp("a", 3, at: start + .seconds(59)) == .known(["1.1.1.1"], startsLookup: false))
        #expect(table.lookUp("a", 4, at: start + .seconds(60)) == .known(["1.1.1.1"], startsLookup: true))
    }

    @Test("a stale answer is used while it is refreshed; a failed refresh is retried at intervals; after `staleness` it is not used")
    func stale() {
        var table = table()
        _ = table.lookUp("a", 1, at: start)
        _ = table.answered("a", ["1.1.1.1"], at: start)
        #expect(table.lookUp("a", 2, at: start + .seconds(60)) == .known(["1.1.1.1"], startsLookup: true))
        #expect(table.lookUp("a", 3, at: start + .seconds(61)) == .known(["1.1.1.1"], startsLookup: false))
        #expect(table.answered("a", nil, at: start + .seconds(62)) == ([], nil))
        #expect(table.lookUp("a", 4, at: start + .seconds(66)) == .known(["1.1.1.1"], startsLookup: false))
        #expect(table.lookUp("a", 5, at: start + .seconds(67)) == .known(["1.1.1.1"], startsLookup: true))
        #expect(table.answered("a", ["2.2.2.2"], at: start + .seconds(68)) == ([], nil))
        #expect(table.lookUp("a", 6, at: start + .seconds(127)) == .known(["2.2.2.2"], startsLookup: false))
        #expect(table.lookUp("a", 7, at: start + .seconds(68 + 3600)) == .startLookup)
    }

    @Test("a request after the old answer expired waits for the running refresh")
    func expiredWhileRefreshing() {
        var table = table()
        _ = table.lookUp("a", 1, at: start)
        _ = table.answered("a", ["1.1.1.1"], at: start)
        #expect(table.lookUp("a", 2, at: start + .seconds(3599)) == .known(["1.1.1.1"], startsLookup: true))
        #expect(table.lookUp("a", 3, at: start + .seconds(3600)) == .wait)
        #expect(table.answered("a", ["2.2.2.2"], at: start + .seconds(3601)).waiters == [3])
    }

    @Test("a failure is not cached")
    func failure() {
        var table = table()
        #expect(table.lookUp("a", 1, at: start) == .startLookup)
        #expect(table.answered("a", nil, at: start).waiters == [1])
        #expect(table.lookUp("a", 2, at: start) == .startLookup)
    }

    @Test("lookups above the limit wait for one to end; a stale answer is used meanwhile")
    func bounded() {
        var table = table(lookups: 1)
        #expect(table.lookUp("z", 0, at: start) == .startLookup)
        #expect(table.answered("z", ["1.1.1.1"], at: start) == ([0], nil))
        let later = start + .seconds(60)
        #expect(table.lookUp("a", 1, at: later) == .startLookup)
        #expect(table.lookUp("z", 0, at: later) == .known(["1.1.1.1"], startsLookup: false))
        #expect(table.lookUp("b", 2, at: later) == .wait)
        #expect(table.lookUp("c", 3, at: later) == .wait)
        #expect(table.answered("a", nil, at: later).next == "b")
        #expect(table.answered("b", nil, at: later) == ([2], "c"))
        #expect(table.answered("c", nil, at: later) == ([3], nil))
        #expect(table.lookUp("d", 4, at: later) == .startLookup)
    }

    @Test("the number of cached names is bounded")
    func capacity() {
        var table = table()
        for name in ["a", "b", "c"] {
            _ = table.lookUp(name, 0, at: start)
            _ = table.answered(name, ["1.1.1.1"], at: start)
        }
        #expect(table.lookUp("c", 1, at: start) == .known(["1.1.1.1"], startsLookup: false))
        #expect(table.lookUp("a", 1, at: start) == .startLookup)
    }
}

private func == (left: (waiters: [Int], next: String?), right: ([Int], String?)) -> Bool {
    left.waiters == right.0 && left.next == right.1
}
