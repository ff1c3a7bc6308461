import CGatewayShims

/// The events that a watch waits for. Empty: the watch is kept, but nothing is reported, not even a hang-up.
public struct Interest: OptionSet, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Report when data or the end of the stream can be read.
    public static let read = Interest(rawValue: UInt32(GATEWAY_EPOLL_READ))
    /// Report when a write would not block.
    public static let write = Interest(rawValue: UInt32(GATEWAY_EPOLL_WRITE))
    /// Edge-triggered (`EPOLLET`), combined with the others: a change is reported once, not again while it lasts. The handler must read and
    /// write until the call would block. Saves the kernel from checking every socket again that was ready before.
    public static let edge = Interest(rawValue: UInt32(GATEWAY_EPOLL_EDGE))
}

/// What epoll reported for a watched descriptor.
public struct Readiness: OptionSet, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// A read will not block.
    public static let readable = Readiness(rawValue: UInt32(GATEWAY_EPOLL_READ))
    /// A write will not block.
    public static let writable = Readiness(rawValue: UInt32(GATEWAY_EPOLL_WRITE))
    /// The peer has closed its sending side (`EPOLLRDHUP`): read until the end of the stream, also after a read that did not fill its
    /// buffer. Reported with `Interest.edge` only.
    public static let ending = Readiness(rawValue: UInt32(GATEWAY_EPOLL_ENDING))
    /// The peer hung up or the socket failed. The watch's whole interest is reported as ready with it, so that a handler that only reads
    /// or writes gets the error from its next call.
    public static let failed = Readiness(rawValue: UInt32(GATEWAY_EPOLL_FAILED))
}
