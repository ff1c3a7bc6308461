import CGatewayShims

/// What a watched descriptor is waited for. Empty: the watch is kept, but asleep.
public struct Interest: OptionSet, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Wake me when there is something to read, or the end of it.
    public static let read = Interest(rawValue: UInt32(GATEWAY_EPOLL_READ))
    /// Wake me when a write would be accepted.
    public static let write = Interest(rawValue: UInt32(GATEWAY_EPOLL_WRITE))
    /// Beside the others: wake me when something changes, once, and not as long as it is so. Who says so reads and writes until the socket
    /// has no more, and spares the kernel a second look at every socket that was ready before.
    public static let edge = Interest(rawValue: UInt32(GATEWAY_EPOLL_EDGE))
}

/// What a watched descriptor is ready for.
public struct Readiness: OptionSet, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// A read will not block.
    public static let readable = Readiness(rawValue: UInt32(GATEWAY_EPOLL_READ))
    /// A write will not block.
    public static let writable = Readiness(rawValue: UInt32(GATEWAY_EPOLL_WRITE))
    /// The peer has ended its side: a read that brings less than there was room for is not the last. Reported with `Interest.edge`.
    public static let ending = Readiness(rawValue: UInt32(GATEWAY_EPOLL_ENDING))
    /// The peer hung up or the socket failed. Every direction of the watch's interest is reported ready beside it, so that a handler
    /// that only reads or writes meets the failure where it handles failures.
    public static let failed = Readiness(rawValue: UInt32(GATEWAY_EPOLL_FAILED))
}
