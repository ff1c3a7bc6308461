/// What other threads want done on the reactor's thread, in the order it came. Pure; the reactor keeps it behind a lock.
struct Inbox {
    enum Item {
        case job(UnownedJob)
        case work(@Sendable () -> Void)
    }

    /// Who empties the inbox.
    enum Consumer {
        /// The thread looks at the inbox before it sleeps: no signal needed.
        case awake
        /// The thread waits in the kernel: the next item must wake it.
        case asleep
        /// The thread has ended, or not begun: the caller that adds an item runs it, unless another caller is doing that.
        case gone(somebodyIsDraining: Bool)
    }

    enum AfterAdding {
        case nothing
        case wake
        case drainHere
    }

    private(set) var items: [Item] = []
    private(set) var consumer = Consumer.awake

    mutating func add(_ item: Item) -> AfterAdding {
        items.append(item)
        switch consumer {
        case .awake, .gone(somebodyIsDraining: true):
            return .nothing
        case .asleep:
            consumer = .awake
            return .wake
        case .gone(somebodyIsDraining: false):
            consumer = .gone(somebodyIsDraining: true)
            return .drainHere
        }
    }

    /// True when the thread may sleep until it is woken or a timer is due.
    mutating func fallAsleep() -> Bool {
        guard items.isEmpty else { return false }
        consumer = .asleep
        return true
    }

    mutating func wakeUp() {
        consumer = .awake
    }

    /// Exchanges the waiting items for the empty array of the caller, whose capacity is used again.
    mutating func swapItems(with other: inout [Item]) {
        swap(&items, &other)
    }

    /// The thread ends: true when nothing was left to do.
    mutating func leave() -> Bool {
        guard items.isEmpty else { return false }
        consumer = .gone(somebodyIsDraining: false)
        return true
    }
}

/// Items that were taken from the inbox, and how many of them were performed. Belongs to the thread that empties the inbox.
struct InboxBatch {
    private var items: [Inbox.Item] = []
    private var next = 0

    var isEmpty: Bool { next == items.count }

    /// The next item; nil when all were returned.
    mutating func popFirst() -> Inbox.Item? {
        guard next < items.count else { return nil }
        let item = items[next]
        next += 1
        if next == items.count {
            // Nothing is held that was performed: the thread may sleep next.
            items.removeAll(keepingCapacity: true)
            next = 0
        }
        return item
    }

    /// Takes what is in the inbox. Only when empty; the arrays change places, so that both keep their capacity.
    mutating func refill(from inbox: inout Inbox) { inbox.swapItems(with: &items) }
}
