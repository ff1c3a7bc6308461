/// A first-in, first-out queue of distinct elements, each of which can be removed from any position in constant time (amortized). Pure.
struct WaiterQueue<Request: Hashable> {
    /// Removed entries are skipped by `next`. They and those before `head` are dropped before they are many.
    private(set) var order: [Request] = []
    private var head = 0
    private var waiting: Set<Request> = []

    var count: Int { waiting.count }
    var isEmpty: Bool { waiting.isEmpty }

    mutating func append(_ request: Request) {
        order.append(request)
        waiting.insert(request)
    }

    /// False when the request is not in the queue.
    @discardableResult
    mutating func remove(_ request: Request) -> Bool {
        guard waiting.remove(request) != nil else { return false }
        if order.count > 64, order.count > 2 * waiting.count {
            order = order[head...].filter(waiting.contains)
            head = 0
        }
        return true
    }

    /// The element that `next` would return.
    var first: Request? { order[head...].first(where: waiting.contains) }

    /// Removes and returns the oldest element.
    mutating func next() -> Request? {
        while head < order.count {
            let request = order[head]
            head += 1
            if head == order.count {
                order.removeAll(keepingCapacity: true)
                head = 0
            } else if head > 64, head > order.count / 2 {
                order.removeSubrange(..<head)
                head = 0
            }
            if waiting.remove(request) != nil { return request }
        }
        return nil
    }

    /// Removes and returns all elements, oldest first.
    mutating func removeAll() -> [Request] {
        defer { self = WaiterQueue() }
        return order[head...].filter(waiting.contains)
    }
}
