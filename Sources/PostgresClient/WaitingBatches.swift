/// The batches that wait for a shared connection, first in, first out in a queue per slot and a last one for those without an affinity. Counts
/// those of each affinity, so that the pool can keep one of them from taking all places. Pure; constant time a batch (amortized).
struct WaitingBatches {
    private typealias Queue = WaiterQueue<PoolMachine.RequestID>

    private let slots: Int
    private var queues: [Queue]
    /// The affinities of the waiting batches that have one.
    private var affinities: [PoolMachine.RequestID: UInt64] = [:]
    /// The number of waiting batches by affinity; none is 0.
    private(set) var counts: [UInt64: Int] = [:]

    /// - Parameter slots: 0 or more.
    init(slots: Int) {
        self.slots = slots
        queues = Array(repeating: Queue(), count: slots + 1)
    }

    var count: Int { queues.reduce(0) { $0 + $1.count } }
    /// The oldest batch of each queue that has one.
    var heads: [(request: PoolMachine.RequestID, queue: Int)] {
        queues.indices.compactMap { queue in queues[queue].first.map { (request: $0, queue: queue) } }
    }

    /// The queue of an affinity; nil: of batches without one. Requires a slot when there is an affinity.
    func queue(of affinity: UInt64?) -> Int { affinity.map { Int($0 % UInt64(slots)) } ?? slots }

    func isEmpty(_ queue: Int) -> Bool { queues[queue].isEmpty }

    /// How many batches of an affinity wait; 0 without one, because such batches are of many callers.
    func count(of affinity: UInt64?) -> Int { affinity.flatMap { counts[$0] } ?? 0 }

    mutating func append(_ request: PoolMachine.RequestID, affinity: UInt64?) {
        queues[queue(of: affinity)].append(request)
        guard let affinity else { return }
        affinities[request] = affinity
        counts[affinity, default: 0] += 1
    }

    /// Removes the oldest batch of a queue.
    mutating func removeFirst(of queue: Int) {
        if let request = queues[queue].next() { uncount(request) }
    }

    /// False when the batch is not waiting.
    mutating func remove(_ request: PoolMachine.RequestID) -> Bool {
        let queue = queue(of: affinities[request])
        guard queues[queue].remove(request) else { return false }
        uncount(request)
        return true
    }

    /// Removes and returns all batches, oldest first in each queue.
    mutating func removeAll() -> [PoolMachine.RequestID] {
        defer { self = WaitingBatches(slots: slots) }
        return queues.indices.flatMap { queues[$0].removeAll() }
    }

    private mutating func uncount(_ request: PoolMachine.RequestID) {
        guard let affinity = affinities.removeValue(forKey: request), let count = counts[affinity] else { return }
        counts[affinity] = count > 1 ? count - 1 : nil
    }
}
