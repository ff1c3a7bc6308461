import Testing

@testable import PostgresClient

@Suite struct WaiterQueueTests {
    private var queue = WaiterQueue<Int>()

    @Test("elements leave in order, without those that were removed")
    mutating func order() {
        for request in 1...4 { queue.append(request) }
        #expect(queue.remove(2) == true)
        #expect(queue.remove(2) == false)
        #expect(queue.count == 3)
        #expect([queue.next(), queue.next(), queue.next(), queue.next()] == [1, 3, 4, nil])
        queue.append(5)
        #expect(queue.next() == 5)
    }

    @Test("elements that have left do not accumulate in a queue that is never empty")
    mutating func neverEmpty() {
        queue.append(0)
        for request in 1...10_000 {
            queue.append(request)
            #expect(queue.next() == request - 1)
        }
        #expect(queue.order.count <= 66)
        #expect(queue.removeAll() == [10_000])
    }

    @Test("removed elements do not accumulate behind one that stays")
    mutating func leaving() {
        queue.append(0)
        for request in 1...10_000 {
            queue.append(request)
            queue.remove(request)
        }
        #expect(queue.order.count <= 66)
        #expect(queue.removeAll() == [0])
        #expect(queue.isEmpty)
    }
}
