import Testing

@testable import PostgresClient

@Suite struct WaitingBatchesTests {
    private var batches = WaitingBatches(slots: 2)

    private func request(_ number: Int) -> PoolMachine.RequestID { .init(number: number) }

    @Test("batches of one slot are in one queue, those without an affinity in another")
    mutating func queues() {
        for (number, affinity) in [(1, 0), (2, 2), (3, 1), (4, nil)] as [(Int, UInt64?)] {
            batches.append(request(number), affinity: affinity)
        }
        #expect(batches.heads.map { $0.request.number } == [1, 3, 4])
        #expect(batches.count == 4 && batches.counts == [0: 1, 1: 1, 2: 1] && batches.count(of: nil) == 0)
        batches.removeFirst(of: batches.queue(of: 2))
        #expect(batches.heads.map { $0.request.number } == [2, 3, 4])
    }

    @Test("the counts are those of the batches that wait, however they leave")
    mutating func counts() {
        for number in 1...3 { batches.append(request(number), affinity: 7) }
        #expect(batches.count(of: 7) == 3)
        batches.removeFirst(of: batches.queue(of: 7))
        #expect(batches.count(of: 7) == 2)
        let removals = [3, 3, 1, 9].map { batches.remove(request($0)) }
        #expect(removals == [true, false, false, false])
        #expect(batches.count(of: 7) == 1)
        batches.append(request(4), affinity: nil)
        #expect(batches.removeAll() == [request(2), request(4)])
        #expect(batches.count == 0 && batches.count(of: 7) == 0)
    }

    @Test("of an affinity without waiting batches nothing is kept")
    mutating func forgotten() {
        for number in 1...10_000 { batches.append(request(number), affinity: UInt64(number)) }
        for number in 1...5_000 {
            let wasWaiting = batches.remove(request(number))
            #expect(wasWaiting)
        }
        for _ in 1...2_500 { for queue in 0...1 { batches.removeFirst(of: queue) } }
        #expect(batches.count == 0 && batches.counts.isEmpty)
    }
}
