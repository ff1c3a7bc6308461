import Testing

@testable import PostgresClient

@Suite("PoolMachine, batches with an affinity")
struct PoolMachineAffinityTests: PoolMachineBench {
    var pool: PoolMachine = Self.pool()

    @Test("equal affinities use one shared connection, however busy it is, and different ones are spread over all")
    mutating func affinity() {
        openSharedConnections()
        #expect(pool.batchArrived(request(1), affinity: 7, now: at(0)) == [.send(request(1), on: connection(2))])
        #expect(pool.batchArrived(request(2), affinity: 7, now: at(0)) == [.send(request(2), on: connection(2))])
        #expect(pool.batchArrived(request(3), affinity: 7, now: at(0)) == [])
        #expect(pool.batchArrived(request(4), affinity: 8, now: at(0)) == [.send(request(4), on: connection(1))])
        #expect(pool.batchArrived(request(5), now: at(0)) == [.send(request(5), on: connection(1))])
        #expect(pool.batchEnded(on: connection(1), now: at(1)) == [])
        #expect(pool.batchEnded(on: connection(2), now: at(1)) == [.send(request(3), on: connection(2))])
    }

    @Test("a batch with an affinity waits for its stale connection, and batches without one do not wait")
    mutating func affinityBehindOldHead() {
        openSharedConnections()
        _ = pool.batchArrived(request(1), affinity: 0, now: at(0))
        #expect(pool.batchArrived(request(2), affinity: 0, now: at(30)) == [])
        #expect(pool.batchArrived(request(3), now: at(30)) == [.send(request(3), on: connection(2))])
        #expect(pool.batchEnded(on: connection(1), now: at(100)) == [.send(request(2), on: connection(1))])
    }

    @Test("while its connection is lost an affinity uses the next one, and then the replacement")
    mutating func affinityOfLostConnection() {
        openSharedConnections()
        for number in 1...3 { _ = pool.batchArrived(request(number), affinity: 0, now: at(0)) }
        #expect(pool.closed(connection(1), now: at(1)) == [.send(request(3), on: connection(2)), .scheduleRetry])
        #expect(pool.batchArrived(request(4), affinity: 0, now: at(1)) == [.send(request(4), on: connection(2))])
        #expect(pool.retryDue(now: at(2)) == [.connectShared(connection(3))])
        _ = pool.opened(connection(3), now: at(3))
        #expect(pool.batchArrived(request(5), affinity: 0, now: at(3)) == [.send(request(5), on: connection(3))])
    }

    /// Affinities 0 and 2 use connection 1, affinity 1 connection 2. Of affinity 0 requests 1 and 2 are sent, 3 and 4 wait.
    private mutating func crowdOfOneAffinity(waiters: Int = 8) {
        pool = Self.pool(waiters: waiters)
        openSharedConnections()
        for number in 1...4 { _ = pool.batchArrived(request(number), affinity: 0, now: at(0)) }
    }

    @Test("of one affinity only so many batches wait; others of its slot, of other slots and without an affinity are not refused")
    mutating func waitersOfAffinity() {
        crowdOfOneAffinity()
        for number in 5...50 {
            #expect(pool.batchArrived(request(number), affinity: 0, now: at(0)) == [.reject(request(number), .poolExhausted)])
        }
        #expect(pool.batchArrived(request(51), affinity: 2, now: at(0)) == [])
        #expect(pool.batchArrived(request(52), affinity: 1, now: at(0)) == [.send(request(52), on: connection(2))])
        #expect(pool.batchArrived(request(53), now: at(0)) == [.send(request(53), on: connection(2))])
        #expect(pool.batchArrived(request(54), affinity: 1, now: at(0)) == [])
        #expect(pool.waitingBatchCount == 4)
        // The slot's batches run in the order in which they came.
        for number in [3, 4, 51] {
            #expect(pool.batchEnded(on: connection(1), now: at(1)) == [.send(request(number), on: connection(1))])
        }
    }

    @Test("batches without an affinity wait up to the limit of the pool alone")
    mutating func waitersWithoutAffinity() {
        pool = Self.pool(waiters: 8)
        openSharedConnections()
        for number in 1...4 { _ = pool.batchArrived(request(number), now: at(0)) }
        let waiting = (5...12).map { pool.batchArrived(request($0), now: at(0)) }
        #expect(waiting.allSatisfy { $0 == [] })
        #expect(pool.batchArrived(request(13), now: at(0)) == [.reject(request(13), .poolExhausted)])
    }

    @Test("a batch that is sent, gives up or is rejected makes room for another one of its affinity")
    mutating func placeOfAffinity() {
        crowdOfOneAffinity()
        #expect(pool.batchEnded(on: connection(1), now: at(1)) == [.send(request(3), on: connection(1))])
        #expect(pool.batchArrived(request(5), affinity: 0, now: at(1)) == [])
        #expect(pool.batchArrived(request(6), affinity: 0, now: at(1)) == [.reject(request(6), .poolExhausted)])
        pool.withdraw(request(4))
        // Neither waits: that they give up has no effect.
        for number in [3, 6] { pool.withdraw(request(number)) }
        #expect(pool.batchArrived(request(7), affinity: 0, now: at(1)) == [])
        #expect(pool.batchArrived(request(8), affinity: 0, now: at(1)) == [.reject(request(8), .poolExhausted)])

        // Both connections are lost, and the next attempts fail.
        _ = pool.closed(connection(2), now: at(2))
        _ = pool.closed(connection(1), now: at(2))
        #expect(pool.waitingBatchCount == 2)
        _ = pool.retryDue(now: at(3))
        _ = pool.closed(connection(3), now: at(4))
        #expect(pool.health == .unreachable && pool.waitingBatchCount == 0)
        _ = pool.closed(connection(4), now: at(4))
        _ = pool.retryDue(now: at(5))
        _ = pool.opened(connection(5), now: at(6))
        let next = (11...15).map { pool.batchArrived(request($0), affinity: 0, now: at(6)) }
        #expect(next.map(\.count) == [1, 1, 0, 0, 1] && next.last == [.reject(request(15), .poolExhausted)])
    }

    @Test("when the pool has no place left it refuses a batch whatever its affinity")
    mutating func poolBeforeAffinity() {
        crowdOfOneAffinity(waiters: 2)
        #expect(pool.batchArrived(request(5), affinity: 2, now: at(0)) == [.reject(request(5), .poolExhausted)])
    }
}
