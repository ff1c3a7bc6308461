import Testing

@testable import PostgresClient

@Suite struct BackoffTests {
    @Test("the first retry is immediate, then the waits double up to their limit, for ever")
    func doubling() {
        var backoff = Backoff()
        let waits = (0..<100).map { _ in backoff.next(random: 0) }
        #expect(
            waits.prefix(7) == [
                .zero, .milliseconds(50), .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800),
                .milliseconds(800),
            ])
        #expect(waits.last == .milliseconds(800))
    }

    @Test("chance shortens a wait by at most half")
    func jitter() {
        var backoff = Backoff()
        #expect(backoff.next(random: 1) == .milliseconds(5))
        #expect(backoff.next(random: 1) == .milliseconds(25))
        #expect(backoff.next(random: 0.5) == .milliseconds(75))
    }

    @Test("after a success it starts again")
    func reset() {
        var backoff = Backoff()
        for _ in 0..<5 { _ = backoff.next(random: 0) }
        backoff.reset()
        #expect(backoff == Backoff())
    }
}

@Suite struct WaitingLineTests {
    private var line = WaiterQueue<Int>()

    @Test("first come, first served, but for those who left")
    mutating func order() {
        for ticket in 1...4 { line.join(ticket) }
        #expect(line.leave(2) == true)
        #expect(line.leave(2) == false)
        #expect(line.count == 3)
        #expect([line.next(), line.next(), line.next(), line.next()] == [1, 3, 4, nil])
        line.join(5)
        #expect(line.next() == 5)
    }

    @Test("those who left do not pile up behind one who stays")
    mutating func leaving() {
        line.join(0)
        for ticket in 1...10_000 {
            line.join(ticket)
            line.leave(ticket)
        }
        #expect(line.footprint <= 66)
        #expect(line.removeAll() == [0])
        #expect(line.isEmpty)
    }
}
