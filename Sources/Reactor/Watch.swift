/// A descriptor under watch. Belongs to the reactor's thread; the reactor never closes the descriptor.
public final class Watch {
    /// The watched descriptor. Its number may belong to somebody else as soon as the watch is over.
    public let descriptor: Int32

    /// What the watch waits for at present.
    public internal(set) var interest: Interest

    /// What the kernel hands back with an event. Never used twice, unlike the descriptor's number: this is how an event of a removed
    /// watch is told from one of its successor.
    let token: UInt64

    let handler: (Readiness) -> Void

    init(descriptor: Int32, interest: Interest, token: UInt64, handler: @escaping (Readiness) -> Void) {
        self.descriptor = descriptor
        self.interest = interest
        self.token = token
        self.handler = handler
    }
}
