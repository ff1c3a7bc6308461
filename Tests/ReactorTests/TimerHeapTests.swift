import Testing

@testable import Reactor

@Suite struct TimerHeapTests {
    private let start = ContinuousClock.now

    private func after(_ milliseconds: Int) -> ContinuousClock.Instant {
        start.advanced(by: .milliseconds(milliseconds))
    }

    @Test("timers are popped by deadline, and in the order they were set when deadlines are equal")
    func order() {
        var heap = TimerHeap<String>()
        _ = heap.insert("late", at: after(20))
        _ = heap.insert("first of ten", at: after(10))
        _ = heap.insert("second of ten", at: after(10))
        _ = heap.insert("early", at: after(5))
        #expect(heap.popDue(after(4)) == nil)
        #expect(heap.popDue(after(10)) == "early")
        #expect(heap.popDue(after(10)) == "first of ten")
        #expect(heap.popDue(after(10)) == "second of ten")
        #expect(heap.popDue(after(10)) == nil)
        #expect(heap.nextDeadline() == after(20))
    }

    @Test("a cancelled timer is never popped")
    func cancel() {
        var heap = TimerHeap<String>()
        let id = heap.insert("never", at: after(1))
        _ = heap.insert("kept", at: after(2))
        heap.cancel(id)
        heap.cancel(id)
        #expect(heap.nextDeadline() == after(2))
        #expect(heap.popDue(after(9)) == "kept")
        heap.cancel(id)
        #expect(heap.count == 0)
    }

    @Test("cancelled timers do not accumulate in memory")
    func memory() {
        var heap = TimerHeap<Int>()
        for number in 0..<10_000 { heap.cancel(heap.insert(number, at: after(30_000 + number))) }
        #expect(heap.heap.count <= 65)
    }

    @Test("ten thousand timers in random order, half of them cancelled, are popped in order")
    func random() {
        var heap = TimerHeap<Int>()
        let deadlines = (0..<10_000).map { _ in Int.random(in: 0..<100_000) }
        let ids = deadlines.map { heap.insert($0, at: after($0)) }
        for (index, id) in ids.enumerated() where index.isMultiple(of: 2) { heap.cancel(id) }
        var out: [Int] = []
        while let deadline = heap.popDue(after(100_000)) { out.append(deadline) }
        #expect(out == deadlines.enumerated().filter { !$0.offset.isMultiple(of: 2) }.map(\.element).sorted())
    }
}
