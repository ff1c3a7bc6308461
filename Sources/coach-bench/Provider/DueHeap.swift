/// A binary heap of connections by the time of their next write, in memory that is allocated once.
struct DueHeap: ~Copyable {
    struct Entry {
        let due: UInt64
        let connection: Int32
        /// Distinguishes an answer from the next one on the same descriptor.
        let serial: UInt32
    }

    private let entries: UnsafeMutablePointer<Entry>
    private(set) var count = 0

    init(capacity: Int) { entries = .allocate(capacity: capacity) }
    deinit { entries.deallocate() }

    var first: Entry? { count > 0 ? entries[0] : nil }

    mutating func push(_ entry: Entry) {
        var index = count
        count += 1
        while index > 0 {
            let parent = (index - 1) / 2
            guard entry.due < entries[parent].due else { break }
            entries[index] = entries[parent]
            index = parent
        }
        entries[index] = entry
    }

    mutating func pop() {
        count -= 1
        let entry = entries[count]
        var index = 0
        while true {
            var child = 2 * index + 1
            guard child < count else { break }
            if child + 1 < count, entries[child + 1].due < entries[child].due { child += 1 }
            guard entries[child].due < entry.due else { break }
            entries[index] = entries[child]
            index = child
        }
        entries[index] = entry
    }
}
