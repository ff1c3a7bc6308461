import Synchronization

/// Counts up from 0.
final class Counter: Sendable {
    private let value = Atomic<Int>(0)

    func next() -> Int { value.add(1, ordering: .relaxed).oldValue }
}
