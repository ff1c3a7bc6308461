/// The queue of closures and executor jobs that any thread submits to the reactor's thread, first in, first out. It also decides who runs
/// an item and when a sleeping thread must be woken. Pure; the reactor keeps it behind a lock.
struct Inbox {
    enum Item {
        /// Enqueued by an actor whose executor is the reactor.
        case job(UnownedJob)
        /// A closure given to `submit`.
        case work(@Sendable () -> Void)
    }

    /// The state of the reactor's thread, which decides who empties the inbox.
    enum Consumer {
        /// The thread reads the inbox before it blocks in the kernel: no signal is needed.
        case awake
        /// The thread blocks in the kernel: the next item must wake it.
        case asleep
        /// No thread: the reactor was stopped, perhaps before it started. The caller that adds an item runs it, unless another caller is
        /// already running items.
        case gone(isBeingDrained: Bool)
    }

    /// What the caller of `add` must do.
    enum AfterAdding {
        case nothing
        /// Wake the reactor's thread.
        case wake
        /// Run the items on the calling thread.
        case drainHere
    }

    private(set) var items: [Item] = []
    private(set) var consumer = Consumer.awake

    mutating func add(_ item: Item) -> AfterAdding {
        items.append(item)
        switch consumer {
        case .awake, .gone(isBeingDrained: true):
            return .nothing
        case .asleep:
            consumer = .awake
            return .wake
        case .gone(isBeingDrained: false):
            consumer = .gone(isBeingDrained: true)
            return .drainHere
        }
    }

    /// The thread is about to block. False, without a change, when items are waiting: then it must not block.
    mutating func fallAsleep() -> Bool {
        guard items.isEmpty else { return false }
        consumer = .asleep
        return true
    }

    mutating func wakeUp() {
        consumer = .awake
    }

    /// Moves the waiting items to `other`, which must be empty; its capacity is used again.
    mutating func swapItems(with other: inout [Item]) {
        swap(&items, &other)
    }

    /// The thread, or the caller that drains the inbox, is about to end. False, without a change, when items are waiting: then it must run
    /// them first.
    mutating func leave() -> Bool {
        guard items.isEmpty else { return false }
        consumer = .gone(isBeingDrained: false)
        return true
    }
}

/// The items that were taken from the inbox and are not yet run. Used only by the thread that empties the inbox.
struct InboxBatch {
    private var items: [Inbox.Item] = []
    private var next = 0

    var isEmpty: Bool { next == items.count }

    /// Removes and returns the next item; nil when there is none.
    mutating func popFirst() -> Inbox.Item? {
        guard next < items.count else { return nil }
        let item = items[next]
        next += 1
        if next == items.count {
            // Frees the closures now: the thread may block for long after this.
            items.removeAll(keepingCapacity: true)
            next = 0
        }
        return item
    }

    /// Moves all items out of the inbox. Call only when the batch is empty. The two arrays are swapped, so that both keep their capacity.
    mutating func refill(from inbox: inout Inbox) { inbox.swapItems(with: &items) }
}
