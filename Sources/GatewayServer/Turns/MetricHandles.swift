import Synchronization

/// Handles of the metrics API, kept by what tells them apart: making one renders its name and labels and locks the registry, which is
/// nothing to do for every turn. They are kept for ever, as their series are: a key must have few values.
final class MetricHandles<Key: Hashable & Sendable, Handles: Sendable>: Sendable {
    private let kept = Mutex<[Key: Handles]>([:])
    private let make: @Sendable (Key) -> Handles

    init(_ make: @escaping @Sendable (Key) -> Handles) {
        self.make = make
    }

    subscript(key: Key) -> Handles {
        kept.withLock { kept in
            if let handles = kept[key] { return handles }
            let handles = make(key)
            kept[key] = handles
            return handles
        }
    }
}
