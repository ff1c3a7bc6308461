/// Timers by deadline. Pure: the clock is an argument.
///
/// Insert and pop are logarithmic. Cancelling is constant: the entry in the heap stays behind as a cancelled one and is skipped; when
/// most entries are cancelled, the heap is rebuilt, so that deadlines which are nearly always cancelled do not pile up.
struct TimerHeap<Payload> {
    typealias Instant = ContinuousClock.Instant

    struct ID: Hashable {
        fileprivate let sequence: UInt64
    }

    private struct Entry {
        let deadline: Instant
        let id: ID

        /// Timers of one deadline are due in the order they were set.
        static func < (left: Entry, right: Entry) -> Bool {
            (left.deadline, left.id.sequence) < (right.deadline, right.id.sequence)
        }
    }

    private var heap: [Entry] = []
    private var living: [ID: Payload] = [:]
    private var sequence: UInt64 = 0

    var count: Int { living.count }

    /// Entries held, cancelled ones included. For the test that bounds them.
    var footprint: Int { heap.count }

    mutating func insert(_ payload: Payload, at deadline: Instant) -> ID {
        sequence += 1
        let id = ID(sequence: sequence)
        living[id] = payload
        heap.append(Entry(deadline: deadline, id: id))
        siftUp(from: heap.count - 1)
        return id
    }

    /// Takes a timer back. Nothing happens when it was due or cancelled before.
    mutating func cancel(_ id: ID) {
        guard living.removeValue(forKey: id) != nil else { return }
        if heap.count > 64, heap.count > 2 * living.count { rebuild() }
    }

    /// The deadline of the timer that is due first.
    mutating func nextDeadline() -> Instant? {
        while let first = heap.first {
            if living[first.id] != nil { return first.deadline }
            removeFirst()
        }
        return nil
    }

    /// Removes and returns the first timer whose deadline is not after `now`.
    mutating func popDue(_ now: Instant) -> Payload? {
        guard let deadline = nextDeadline(), deadline <= now else { return nil }
        return living.removeValue(forKey: removeFirst().id)
    }

    private mutating func rebuild() {
        // A sorted array is a heap.
        heap = heap.filter { living[$0.id] != nil }.sorted(by: <)
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
