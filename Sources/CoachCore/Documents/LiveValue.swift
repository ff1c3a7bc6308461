import Synchronization

/// Configuration that is replaced as a whole while others read it. Code that needs it twice for one task reads it once and keeps it.
public final class LiveValue<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    public init(_ value: Value) { self.value = Mutex(value) }

    public var current: Value { value.withLock { $0 } }

    public func replace(with new: Value) {
        // The old value is released after the lock: it may be large.
        let old = value.withLock { value in
            defer { value = new }
            return value
        }
        _ = old
    }
}
