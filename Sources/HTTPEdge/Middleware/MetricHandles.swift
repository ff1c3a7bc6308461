import Synchronization

/// A cache of metric handles (counters, timers) by their labels, because making a handle renders its name and locks the registry, which is
/// too slow for every turn. Entries are never removed, like the metrics themselves, so a key must have few values.
public final class MetricHandles<Key: Hashable & Sendable, Handles: Sendable>: Sendable {
    private let cache = Mutex<[Key: Handles]>([:])
    private let make: @Sendable (Key) -> Handles

    public init(_ make: @escaping @Sendable (Key) -> Handles) {
        self.make = make
    }

    public subscript(key: Key) -> Handles {
        cache.withLock { cache in
            if let handles = cache[key] { return handles }
            let handles = make(key)
            cache[key] = handles
            return handles
        }
    }
}
