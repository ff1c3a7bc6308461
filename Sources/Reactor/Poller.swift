import CGatewayShims
import Glibc

/// A thin wrapper of epoll: owns the epoll descriptor, and the eventfd with which other threads interrupt `wait`.
final class Poller: Sendable {
    /// The token of the eventfd's own event; no watch has it.
    static let wakeToken: UInt64 = 0

    private let epoll: Int32
    private let wakeUp: Int32

    init() throws(ReactorError) {
        epoll = try ReactorError.check(gateway_epoll_create(), "epoll_create1")
        let eventDescriptor = gateway_eventfd_create()
        guard eventDescriptor >= 0 else {
            close(epoll)
            throw ReactorError(operation: "eventfd", code: -eventDescriptor)
        }
        wakeUp = eventDescriptor
        try add(wakeUp, .read, token: Self.wakeToken)
    }

    deinit {
        close(wakeUp)
        close(epoll)
    }

    /// Ends the running `wait`, or the next one. Any thread.
    func wake() {
        _ = gateway_eventfd_signal(wakeUp)
    }

    /// Resets the eventfd after its event.
    func clearWakeUp() {
        _ = gateway_eventfd_clear(wakeUp)
    }

    func add(_ descriptor: Int32, _ interest: Interest, token: UInt64) throws(ReactorError) {
        _ = try ReactorError.check(gateway_epoll_add(epoll, descriptor, interest.rawValue, token), "epoll_ctl add")
    }

    func modify(_ descriptor: Int32, _ interest: Interest, token: UInt64) throws(ReactorError) {
        _ = try ReactorError.check(gateway_epoll_modify(epoll, descriptor, interest.rawValue, token), "epoll_ctl modify")
    }

    /// No effect on a descriptor that was closed: the kernel has removed it from epoll.
    func remove(_ descriptor: Int32) {
        _ = gateway_epoll_remove(epoll, descriptor)
    }

    /// Blocks until an event comes or `timeout` has passed (nil: no limit), and returns the number of events. The timeout is rounded up to
    /// whole milliseconds, so that timers never fire early.
    func wait(_ timeout: Duration?, into events: UnsafeMutableBufferPointer<gateway_epoll_event>) throws(ReactorError) -> Int {
        let count = gateway_epoll_wait(epoll, events.baseAddress, Int32(events.count), timeout.map(Self.milliseconds) ?? -1)
        return Int(try ReactorError.check(count, "epoll_wait"))
    }

    private static func milliseconds(_ timeout: Duration) -> Int32 {
        let (seconds, attoseconds) = timeout.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        // Keeps the result in range; after an hour the loop computes the timeout again.
        guard seconds < 3600 else { return 3_600_000 }
        return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
