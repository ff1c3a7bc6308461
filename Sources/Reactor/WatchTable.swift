/// The watches of a loop by token. An event is looked up without hashing: a token is a place, and how often that place was taken before.
struct WatchTable {
    private struct Place {
        var watch: Watch?
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
    subscript(token: UInt64) -> Watch? {
        let index = Self.index(token)
        guard index < places.count, let watch = places[index].watch, watch.token == token else { return nil }
        return watch
    }

    var all: [Watch] { places.compactMap(\.watch) }

    /// A watch with `nextToken`.
    mutating func insert(_ watch: Watch) {
        let index = Self.index(watch.token)
        if index == places.count { places.append(Place()) } else { free.removeLast() }
        places[index].watch = watch
    }

    /// False when it was removed before.
    mutating func remove(_ token: UInt64) -> Bool {
        guard self[token] != nil else { return false }
        let index = Self.index(token)
        places[index] = Place(watch: nil, generation: places[index].generation &+ 1)
        free.append(index)
        return true
    }

    private static func index(_ token: UInt64) -> Int { Int(truncatingIfNeeded: token & 0xFFFF_FFFF) }
}
