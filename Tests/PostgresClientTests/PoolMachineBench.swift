@testable import PostgresClient

/// What tests of a pool share: a pool with few places, and short names.
protocol PoolMachineBench {
    var pool: PoolMachine { get set }
}

extension PoolMachineBench {
    static func pool(sharedConnections: Int = 2, waiters: Int = 2) -> PoolMachine {
        PoolMachine(
            limits: .init(
                sharedConnections: sharedConnections, leases: 1, waiters: waiters, waitersPerAffinity: 2, pipelineDepth: 2,
                staleHead: .milliseconds(20), leaseIdle: .seconds(60)),
            now: start)
    }

    func at(_ milliseconds: Int) -> ContinuousClock.Instant { start.advanced(by: .milliseconds(milliseconds)) }
    func connection(_ number: Int) -> PoolMachine.ConnectionID { .init(number: number) }
    func request(_ number: Int) -> PoolMachine.RequestID { .init(number: number) }

    /// Both shared connections are open: connections 1 and 2.
    mutating func openSharedConnections() {
        _ = pool.start(now: at(0))
        _ = pool.opened(connection(1), now: at(0))
        _ = pool.opened(connection(2), now: at(0))
    }
}

private let start = ContinuousClock.now
