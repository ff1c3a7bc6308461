/// A value that belongs to a reactor's thread, referred to from any thread.
///
/// All unsynchronized state of a reactor's objects crosses threads inside this type, and nowhere else.
// SAFETY: `value` is reached in three ways only: inside work that the reactor runs, by `current`, which stops the process on another thread, and by
// `ifCurrent`, which is nil there. The caller of `init` is on the reactor's thread, or has just made the value and uses it nowhere else.
public struct ReactorBound<Value>: @unchecked Sendable {
    public let reactor: Reactor
    private let value: Value

    /// On the reactor's thread, or directly after `value` was made, before anything else uses it.
    public init(_ value: Value, to reactor: Reactor) {
        self.value = value
        self.reactor = reactor
    }

    /// Runs `body` on the reactor's thread, after everything that was submitted before it. Any thread.
    public func submit(_ body: @escaping @Sendable (Value) -> Void) {
        reactor.submit { body(value) }
    }

    /// The value. Only on the reactor's thread.
    public var current: Value {
        reactor.checkIsolated()
        return value
    }

    /// The value on the reactor's thread; nil on others.
    public var ifCurrent: Value? { reactor.isOnReactorThread ? value : nil }
}
