import Testing

@testable import PostgresClient

@Suite struct PoolMachineTests {
    private static let start = ContinuousClock.now
    private var pool = Self.pool()

    private static func pool(
        sharedConnections: Int = 2, leases: Int = 1, waiters: Int = 2, waitersPerAffinity: Int = 2, depth: Int = 2
    ) -> PoolMachine {
        PoolMachine(
            limits: .init(
                sharedConnections: sharedConnections, leases: leases, waiters: waiters, waitersPerAffinity: waitersPerAffinity,
                pipelineDepth: depth, staleHead: .milliseconds(20), leaseIdle: .seconds(60)),
            now: start)
    }

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { Self.start.advanced(by: .milliseconds(milliseconds)) }
    private func connection(_ number: Int) -> PoolMachine.ConnectionID { .init(number: number) }
    private func request(_ number: Int) -> PoolMachine.RequestID { .init(number: number) }

    /// Both shared connections are open: connections 1 and 2.
    private mutating func openSharedConnections() {
        _ = pool.start(now: at(0))
        _ = pool.opened(connection(1), now: at(0))
        _ = pool.opened(connection(2), now: at(0))
    }

    // MARK: Shared connections

    @Test("all shared connections are opened at the start")
    mutating func startsSharedConnections() {
        #expect(pool.start(now: at(0)) == [.connectShared(connection(1)), .connectShared(connection(2))])
    }

    @Test("a batch goes to the shared connection with the fewest outstanding")
    mutating func fewest() {
        openSharedConnections()
        #expect(pool.batchArrived(request(1), now: at(0)) == [.send(request(1), on: connection(1))])
        #expect(pool.batchArrived(request(2), now: at(0)) == [.send(request(2), on: connection(2))])
        #expect(pool.batchArrived(request(3), now: at(0)) == [.send(request(3), on: connection(1))])
    }

    @Test("no batch is sent behind one that has run for 20 ms while another shared connection is free")
    mutating func staleHead() {
        openSharedConnections()
        _ = pool.batchArrived(request(1), now: at(0))
        _ = pool.batchArrived(request(2), now: at(19))
        #expect(pool.batchArrived(request(3), now: at(20)) == [.send(request(3), on: connection(2))])
    }

    @Test("when all connections are stale a batch waits, and the first one that makes progress takes it")
    mutating func allStale() {
        openSharedConnections()
        _ = pool.batchArrived(request(1), now: at(0))
        _ = pool.batchArrived(request(2), now: at(0))
        #expect(pool.batchArrived(request(3), now: at(50)) == [])
        #expect(pool.batchEnded(on: connection(2), now: at(60)) == [.send(request(3), on: connection(2))])
    }

    @Test("after an answer the age of the next batch counts from that answer")
    mutating func headMoves() {
        openSharedConnections()
        for number in 1...4 { _ = pool.batchArrived(request(number), now: at(0)) }
        _ = pool.batchEnded(on: connection(1), now: at(100))
        #expect(pool.batchArrived(request(5), now: at(110)) == [.send(request(5), on: connection(1))])
    }

    @Test("when the shared connections are full batches wait in order, up to the limit")
    mutating func waiters() {
        openSharedConnections()
        for number in 1...6 { _ = pool.batchArrived(request(number), now: at(0)) }
        #expect(pool.batchArrived(request(7), now: at(0)) == [.reject(request(7), .poolExhausted)])
        #expect(pool.batchEnded(on: connection(1), now: at(1)) == [.send(request(5), on: connection(1))])
        pool.withdraw(request(6))
        #expect(pool.batchEnded(on: connection(2), now: at(1)) == [])
        #expect(pool.waitingBatchCount == 0)
    }

    @Test("the load is the connections with work and the requests that wait")
    mutating func load() {
        #expect(pool.load == (inUse: 0, waiting: 0))
        openSharedConnections()
        for number in 1...5 { _ = pool.batchArrived(request(number), now: at(0)) }
        _ = pool.leaseRequested(request(6), now: at(0))
        _ = pool.leaseRequested(request(7), now: at(0))
        #expect(pool.load == (inUse: 2, waiting: 3), "the depth of a connection is 2, and none is leased yet")
        _ = pool.opened(connection(3), now: at(1))
        #expect(pool.load == (inUse: 3, waiting: 2))
        for _ in 0..<3 { _ = pool.batchEnded(on: connection(1), now: at(2)) }
        #expect(pool.load == (inUse: 2, waiting: 1))
    }

    @Test("a batch that arrives before the first connection is open waits for it")
    mutating func early() {
        _ = pool.start(now: at(0))
        #expect(pool.batchArrived(request(1), now: at(0)) == [])
        #expect(pool.opened(connection(2), now: at(5)) == [.send(request(1), on: connection(2))])
    }

    // MARK: Affinity

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

    // MARK: The database becomes unreachable

    @Test("while another shared connection is open, a lost one is replaced and no batch fails")
    mutating func oneConnectionLost() {
        openSharedConnections()
        #expect(pool.closed(connection(1), now: at(5)) == [.scheduleRetry])
        #expect(pool.health == .reachable)
        #expect(pool.retryDue(now: at(6)) == [.connectShared(connection(3))])
        #expect(pool.batchArrived(request(1), now: at(7)) == [.send(request(1), on: connection(2))])
    }

    @Test("after the last shared connection callers wait until an attempt has failed, then all fail at once")
    mutating func allConnectionsLost() {
        openSharedConnections()
        _ = pool.closed(connection(1), now: at(5))
        #expect(pool.closed(connection(2), now: at(5)) == [])
        #expect(pool.health == .connecting)
        #expect(pool.batchArrived(request(1), now: at(6)) == [])
        #expect(pool.leaseRequested(request(2), now: at(6)) == [.connectLease(connection(3))])
        #expect(pool.retryDue(now: at(6)) == [.connectShared(connection(4)), .connectShared(connection(5))])
        #expect(
            pool.closed(connection(4), now: at(7)) == [
                .reject(request(1), .unavailable), .reject(request(2), .unavailable), .scheduleRetry,
            ])
        #expect(pool.health == .unreachable)
        #expect(pool.healthSince == at(7))
        #expect(pool.batchArrived(request(3), now: at(8)) == [.reject(request(3), .unavailable)])
        #expect(pool.leaseRequested(request(4), now: at(8)) == [.reject(request(4), .unavailable)])
    }

    @Test("while unreachable one attempt is made at a time; after the first success the other connections are opened")
    mutating func probe() {
        _ = pool.start(now: at(0))
        #expect(pool.closed(connection(1), now: at(1)) == [.scheduleRetry])
        #expect(pool.closed(connection(2), now: at(1)) == [])
        #expect(pool.retryDue(now: at(50)) == [.connectShared(connection(3))])
        #expect(pool.opened(connection(3), now: at(60)) == [.connectShared(connection(4))])
        #expect(pool.health == .reachable)
    }

    @Test("an idle leased connection does not count as a reachable database")
    mutating func idleLeaseIsNoProof() {
        openSharedConnections()
        _ = pool.leaseRequested(request(1), now: at(0))
        _ = pool.opened(connection(3), now: at(1))
        _ = pool.leaseReturned(connection(3), reusable: true, now: at(2))
        _ = pool.closed(connection(1), now: at(3))
        _ = pool.closed(connection(2), now: at(3))
        _ = pool.retryDue(now: at(4))
        _ = pool.closed(connection(4), now: at(5))
        #expect(pool.health == .unreachable)
    }

    // MARK: Leases

    @Test("a leased connection is opened on demand, and lent again after it was returned")
    mutating func lease() {
        openSharedConnections()
        #expect(pool.leaseRequested(request(1), now: at(0)) == [.connectLease(connection(3))])
        #expect(pool.opened(connection(3), now: at(1)) == [.lend(connection(3), to: request(1))])
        #expect(pool.leaseRequested(request(2), now: at(2)) == [])
        #expect(pool.leaseReturned(connection(3), reusable: true, now: at(3)) == [.lend(connection(3), to: request(2))])
        #expect(pool.leaseReturned(connection(3), reusable: true, now: at(4)) == [.scheduleExpiry])
        #expect(pool.leaseRequested(request(3), now: at(5)) == [.lend(connection(3), to: request(3))])
    }

    @Test("a lease that cannot be reused is closed and replaced for the next waiter")
    mutating func soiled() {
        openSharedConnections()
        _ = pool.leaseRequested(request(1), now: at(0))
        _ = pool.opened(connection(3), now: at(1))
        _ = pool.leaseRequested(request(2), now: at(2))
        #expect(pool.leaseReturned(connection(3), reusable: false, now: at(3)) == [.close(connection(3))])
        #expect(pool.closed(connection(3), now: at(3)) == [.scheduleRetry])
        #expect(pool.retryDue(now: at(4)) == [.connectLease(connection(4))])
        #expect(pool.opened(connection(4), now: at(5)) == [.lend(connection(4), to: request(2))])
    }

    @Test("an idle leased connection is closed after the idle time, one in use is not")
    mutating func expiry() {
        openSharedConnections()
        _ = pool.leaseRequested(request(1), now: at(0))
        _ = pool.opened(connection(3), now: at(0))
        #expect(pool.expireIdle(now: at(100_000)) == [])
        _ = pool.leaseReturned(connection(3), reusable: true, now: at(100_000))
        #expect(pool.expireIdle(now: at(159_999)) == [])
        #expect(pool.expireIdle(now: at(160_000)) == [.close(connection(3))])
    }

    @Test("returning a lease a second time has no effect")
    mutating func returnedTwice() {
        openSharedConnections()
        _ = pool.leaseRequested(request(1), now: at(0))
        _ = pool.opened(connection(3), now: at(1))
        _ = pool.leaseReturned(connection(3), reusable: true, now: at(2))
        #expect(pool.leaseReturned(connection(3), reusable: true, now: at(3)) == [])
    }

    @Test("a connection whose requester has withdrawn is kept idle")
    mutating func leftWhileConnecting() {
        openSharedConnections()
        _ = pool.leaseRequested(request(1), now: at(0))
        pool.withdraw(request(1))
        #expect(pool.opened(connection(3), now: at(1)) == [.scheduleExpiry])
    }

    @Test("a failed lease connection, while shared ones are open, rejects the waiting leases only")
    mutating func leaseRefused() {
        openSharedConnections()
        _ = pool.leaseRequested(request(1), now: at(0))
        #expect(pool.closed(connection(3), now: at(1)) == [.reject(request(1), .unavailable)])
        #expect(pool.health == .reachable)
    }

    @Test("without shared connections each lease request starts a connection attempt")
    mutating func noSharedConnections() {
        pool = Self.pool(sharedConnections: 0)
        #expect(pool.start(now: at(0)) == [])
        #expect(pool.batchArrived(request(1), now: at(0)) == [.reject(request(1), .poolExhausted)])
        #expect(pool.leaseRequested(request(2), now: at(0)) == [.connectLease(connection(1))])
        #expect(pool.closed(connection(1), now: at(1)) == [.reject(request(2), .unavailable)])
        #expect(pool.leaseRequested(request(3), now: at(2)) == [.connectLease(connection(2))])
        #expect(pool.opened(connection(2), now: at(3)) == [.lend(connection(2), to: request(3))])
    }

    // MARK: The end

    @Test("shutdown rejects waiting and new requests, lets running work end, and closes idle connections")
    mutating func shutDown() {
        openSharedConnections()
        _ = pool.batchArrived(request(1), now: at(0))
        _ = pool.leaseRequested(request(2), now: at(0))
        #expect(pool.shutDown(now: at(1)) == [.reject(request(2), .shutDown), .close(connection(2)), .close(connection(3))])
        #expect(pool.closed(connection(2), now: at(1)) == [])
        #expect(pool.closed(connection(3), now: at(1)) == [])
        #expect(pool.batchArrived(request(3), now: at(2)) == [.reject(request(3), .shutDown)])
        #expect(pool.batchEnded(on: connection(1), now: at(3)) == [.close(connection(1))])
        #expect(pool.closed(connection(1), now: at(3)) == [])
        #expect(pool.connectionCount == 0)
        #expect(pool.retryDue(now: at(4)) == [])
    }
}
