/// A sendable reference to a value that only a reactor's thread may use.
///
/// This is the only type in which unsynchronized state of a reactor's objects crosses threads.
// SAFETY: `value` is reached in three ways only: in work that the reactor runs, by `current`, which traps on another thread, and by
// `ifCurrent`, which is nil there. The caller of `init` is on the reactor's thread, or has just made the value and uses it nowhere else.
public struct ReactorBound<Value>: @unchecked Sendable {
    public let reactor: Reactor
    private let value: Value

    /// Call on the reactor's thread, or directly after `value` was made, before anything else uses it.
    public init(_ value: Value, to reactor: Reactor) {
        self.value = value
        self.reactor = reactor
    }

    /// Runs `body` on the reactor's thread, after everything that was submitted before it. Any thread.
    public func submit(_ body: @escaping @Sendable (Value) -> Void) {
        reactor.submit { body(value) }
    }

    /// The value. Traps on another thread.
    public var current: Value {
        reactor.checkIsolated()
        return value
    }

    /// The value; nil on another thread.
    public var ifCurrent: Value? { reactor.isOnReactorThread ? value : nil }
}
