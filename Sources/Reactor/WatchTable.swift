/// The watches of a loop by token. A token is the index of a slot (low 32 bits) and the slot's generation (high 32 bits), so an event is
/// looked up without hashing.
struct WatchTable {
    private struct Slot {
        var watch: Watch?
        var handler: (any ReadinessHandler)?
        /// How many watches had this slot before.
        var generation: UInt32 = 0
    }

    /// Slot 0 is never used: token 0 is the poller's.
    private var slots = [Slot()]
    private var free: [Int] = []

    /// The token of the watch that is inserted next.
    var nextToken: UInt64 {
        let index = free.last ?? slots.count
        let generation = index < slots.count ? slots[index].generation : 0
        return UInt64(generation) << 32 | UInt64(index)
    }

    /// Nil when the watch of that token has ended.
    subscript(token: UInt64) -> Watch? { index(token).flatMap { slots[$0].watch } }

    /// The handler for an event of that token; nil when its watch has ended. Does not access the `Watch`, which saves a cache miss.
    func handler(_ token: UInt64) -> (any ReadinessHandler)? { index(token).flatMap { slots[$0].handler } }

    var all: [Watch] { slots.compactMap(\.watch) }

    /// Inserts a watch whose token must be `nextToken`.
    mutating func insert(_ watch: Watch, _ handler: any ReadinessHandler) {
        if let index = free.popLast() {
            slots[index].watch = watch
            slots[index].handler = handler
        } else {
            slots.append(Slot(watch: watch, handler: handler))
        }
    }

    /// False when the watch was removed before.
    mutating func remove(_ token: UInt64) -> Bool {
        guard let index = index(token), slots[index].watch != nil else { return false }
        slots[index] = Slot(generation: slots[index].generation &+ 1)
        free.append(index)
        return true
    }

    private func index(_ token: UInt64) -> Int? {
        let index = Int(truncatingIfNeeded: token & 0xFFFF_FFFF)
        return index < slots.count && slots[index].generation == UInt32(truncatingIfNeeded: token >> 32) ? index : nil
    }
}
