/// A descriptor under watch. Belongs to the reactor's thread; the reactor never closes the descriptor.
public final class Watch {
    /// The watched descriptor. Its number may be another file's as soon as the watch is over.
    public let descriptor: Int32

    /// What the watch waits for at present.
    public internal(set) var interest: Interest

    /// What the kernel hands back with an event. Never used twice, unlike the descriptor's number: this is how an event of a removed
    /// watch is distinguished from one of its successor.
    let token: UInt64

    init(descriptor: Int32, interest: Interest, token: UInt64) {
        self.descriptor = descriptor
        self.interest = interest
        self.token = token
    }
}

/// Who is called when a watched descriptor is ready. An object and not a closure: an event leads straight to it, and each object on the way
/// of a token is one more that is not in the cache.
public protocol ReadinessHandler: AnyObject {
    func ready(_ readiness: Readiness)
}

/// A closure as a handler.
final class ClosureHandler: ReadinessHandler {
    private let body: (Readiness) -> Void

    init(_ body: @escaping (Readiness) -> Void) { self.body = body }

    func ready(_ readiness: Readiness) { body(readiness) }
}
