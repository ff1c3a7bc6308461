import Testing

@testable import PostgresClient

@Suite struct PoolMachineTests: PoolMachineBench {
    var pool: PoolMachine = Self.pool()

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

    @Test("a retiring connection gets no more batches, and is closed when the last of those that it has is answered; a leased one at once")
    mutating func retiring() {
        openSharedConnections()
        for number in 1...3 { _ = pool.batchArrived(request(number), now: at(0)) }
        #expect(pool.retire(connection(1)) == [])
        #expect(pool.batchEnded(on: connection(1), now: at(1)) == [])
        #expect(pool.batchArrived(request(4), now: at(1)) == [.send(request(4), on: connection(2))])
        #expect(pool.batchArrived(request(5), affinity: 0, now: at(1)) == [])
        #expect(pool.batchEnded(on: connection(1), now: at(2)) == [.close(connection(1))])
        #expect(pool.closed(connection(1), now: at(2)) == [.scheduleRetry])
        #expect(pool.retryDue(now: at(3)) == [.connectShared(connection(3))])
        #expect(pool.batchEnded(on: connection(2), now: at(3)) == [.send(request(5), on: connection(2))])
        #expect(pool.leaseRequested(request(6), now: at(4)) == [.connectLease(connection(4))])
        #expect(pool.opened(connection(4), now: at(5)) == [.lend(connection(4), to: request(6))])
        #expect(pool.retire(connection(4)) == [.close(connection(4))])
    }

    @Test("a batch that arrives before the first connection is open waits for it")
    mutating func early() {
        _ = pool.start(now: at(0))
        #expect(pool.batchArrived(request(1), now: at(0)) == [])
        #expect(pool.opened(connection(2), now: at(5)) == [.send(request(1), on: connection(2))])
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
