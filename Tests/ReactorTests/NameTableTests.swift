import Testing

@testable import Reactor

@Suite("Names that are looked up")
struct NameTableTests {
    private let start = ContinuousClock.now

    private func table(lookups: Int = 2, capacity: Int = 2) -> NameTable<Int> {
        NameTable(validity: .seconds(60), capacity: capacity, maximumLookups: lookups)
    }

    @Test("one lookup for all who ask meanwhile; its answer is valid for a while")
    func shared() {
        var table = table()
        #expect(table.ask("a", 1, at: start) == .startLookup)
        #expect(table.ask("a", 2, at: start) == .wait)
        #expect(table.answered("a", ["1.1.1.1"], at: start).waiters == [1, 2])
        #expect(table.ask("a", 3, at: start + .seconds(59)) == .known(["1.1.1.1"]))
        #expect(table.ask("a", 4, at: start + .seconds(60)) == .startLookup)
    }

    @Test("a failure is not remembered")
    func failure() {
        var table = table()
        #expect(table.ask("a", 1, at: start) == .startLookup)
        #expect(table.answered("a", nil, at: start).waiters == [1])
        #expect(table.ask("a", 2, at: start) == .startLookup)
    }

    @Test("more lookups than allowed wait for one to end")
    func bounded() {
        var table = table(lookups: 1)
        #expect(table.ask("a", 1, at: start) == .startLookup)
        #expect(table.ask("b", 2, at: start) == .wait)
        #expect(table.ask("c", 3, at: start) == .wait)
        #expect(table.answered("a", nil, at: start).next == "b")
        #expect(table.answered("b", nil, at: start) == ([2], "c"))
        #expect(table.answered("c", nil, at: start) == ([3], nil))
        #expect(table.ask("d", 4, at: start) == .startLookup)
    }

    @Test("the names remembered are bounded")
    func capacity() {
        var table = table()
        for name in ["a", "b", "c"] {
            _ = table.ask(name, 0, at: start)
            _ = table.answered(name, ["1.1.1.1"], at: start)
        }
        #expect(table.ask("c", 1, at: start) == .known(["1.1.1.1"]))
        #expect(table.ask("a", 1, at: start) == .startLookup)
    }
}

private func == (left: (waiters: [Int], next: String?), right: ([Int], String?)) -> Bool {
    left.waiters == right.0 && left.next == right.1
}
