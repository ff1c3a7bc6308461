/// A binary heap of timers, ordered by deadline and then by insertion. Pure: the clock is an argument.
///
/// Insert and pop take logarithmic time. Cancelling takes constant time: the heap keeps the entry and skips it later. When more than half
/// of the entries are cancelled the heap is rebuilt, so that memory stays bounded when nearly every timer is cancelled.
struct TimerHeap<Payload> {
    typealias Instant = ContinuousClock.Instant

    struct ID: Hashable {
        fileprivate let sequence: UInt64
    }

    struct Entry {
        let deadline: Instant
        let id: ID

        /// Timers with the same deadline fire in the order in which they were set.
        static func < (left: Entry, right: Entry) -> Bool {
            (left.deadline, left.id.sequence) < (right.deadline, right.id.sequence)
        }
    }

    /// Cancelled entries are skipped when they are due, and dropped before they are many.
    private(set) var heap: [Entry] = []
    /// The timers that are neither due nor cancelled.
    private var active: [ID: Payload] = [:]
    private var sequence: UInt64 = 0

    var count: Int { active.count }

    mutating func insert(_ payload: Payload, at deadline: Instant) -> ID {
        sequence += 1
        let id = ID(sequence: sequence)
        active[id] = payload
        heap.append(Entry(deadline: deadline, id: id))
        siftUp(from: heap.count - 1)
        return id
    }

    /// No effect when the timer was popped or cancelled before.
    mutating func cancel(_ id: ID) {
        guard active.removeValue(forKey: id) != nil else { return }
        if heap.count > 64, heap.count > 2 * active.count { rebuild() }
    }

    /// The earliest deadline; nil without timers. Mutating, because it removes cancelled entries.
    mutating func nextDeadline() -> Instant? {
        while let first = heap.first {
            if active[first.id] != nil { return first.deadline }
            removeFirst()
        }
        return nil
    }

    /// Removes and returns the timer with the earliest deadline, if that is not after `now`.
    mutating func popDue(_ now: Instant) -> Payload? {
        guard let deadline = nextDeadline(), deadline <= now else { return nil }
        return active.removeValue(forKey: removeFirst().id)
    }

    private mutating func rebuild() {
        // A sorted array is a heap.
        heap = heap.filter { active[$0.id] != nil }.sorted(by: <)
    }

    @discardableResult
    private mutating func removeFirst() -> Entry {
        heap.swapAt(0, heap.count - 1)
        let first = heap.removeLast()
        siftDown()
        return first
    }

    private mutating func siftUp(from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child] < heap[parent] else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func siftDown() {
        var parent = 0
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child] < heap[smallest] {
                smallest = child
            }
            guard smallest != parent else { return }
            heap.swapAt(parent, smallest)
            parent = smallest
        }
    }
}
