import Synchronization

/// Cached handles of the metrics API by their labels: making one renders its name and locks the registry, too much for every turn. Entries are
/// kept for ever, as their series are, so a key must have few values.
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
