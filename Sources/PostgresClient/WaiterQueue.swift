/// First in, first out, with leaving from the middle. Pure.
struct WaiterQueue<PendingRequest: Hashable> {
    private var order: [PendingRequest] = []
    private var head = 0
    private var waiting: Set<PendingRequest> = []

    var count: Int { waiting.count }
    var isEmpty: Bool { waiting.isEmpty }

    /// Places held, those of leavers included. For the test that bounds them.
    var footprint: Int { order.count }

    mutating func join(_ ticket: PendingRequest) {
        order.append(ticket)
        waiting.insert(ticket)
    }

    /// False when the ticket was not waiting.
    @discardableResult
    mutating func leave(_ ticket: PendingRequest) -> Bool {
        guard waiting.remove(ticket) != nil else { return false }
        if order.count > 64, order.count > 2 * waiting.count {
            order = order[head...].filter(waiting.contains)
            head = 0
        }
        return true
    }

    /// The one that `next` would return.
    var first: PendingRequest? { order[head...].first(where: waiting.contains) }

    mutating func next() -> PendingRequest? {
        while head < order.count {
            let ticket = order[head]
            head += 1
            if head == order.count {
                order.removeAll(keepingCapacity: true)
                head = 0
            }
            if waiting.remove(ticket) != nil { return ticket }
        }
        return nil
    }

    mutating func removeAll() -> [PendingRequest] {
        defer { self = WaiterQueue() }
        return order[head...].filter(waiting.contains)
    }
}
