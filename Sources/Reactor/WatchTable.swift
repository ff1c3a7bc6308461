/// The watches of a loop by token. An event is looked up without hashing: a token is a place, and how often that place was taken before.
struct WatchTable {
    private struct Place {
        var watch: Watch?
        var handler: (any ReadinessHandler)?
        var generation: UInt32 = 0
    }

    /// Place 0 belongs to the poller's own token.
    private var places = [Place()]
    private var free: [Int] = []

    /// The token of the watch that is inserted next.
    var nextToken: UInt64 {
        let index = free.last ?? places.count
        let generation = index < places.count ? places[index].generation : 0
        return UInt64(generation) << 32 | UInt64(index)
    }

    /// nil when the watch of that token is over.
    subscript(token: UInt64) -> Watch? { index(token).flatMap { places[$0].watch } }

    /// Whom an event of that token is for. Nothing else is touched on the way.
    func handler(_ token: UInt64) -> (any ReadinessHandler)? { index(token).flatMap { places[$0].handler } }

    var all: [Watch] { places.compactMap(\.watch) }

    /// A watch with `nextToken`.
    mutating func insert(_ watch: Watch, _ handler: any ReadinessHandler) {
        if let index = free.popLast() {
            places[index].watch = watch
            places[index].handler = handler
        } else {
            places.append(Place(watch: watch, handler: handler))
        }
    }

    /// False when it was removed before.
    mutating func remove(_ token: UInt64) -> Bool {
        guard let index = index(token), places[index].watch != nil else { return false }
        places[index] = Place(generation: places[index].generation &+ 1)
        free.append(index)
        return true
    }

    private func index(_ token: UInt64) -> Int? {
        let index = Int(truncatingIfNeeded: token & 0xFFFF_FFFF)
        return index < places.count && places[index].generation == UInt32(truncatingIfNeeded: token >> 32) ? index : nil
    }
}
