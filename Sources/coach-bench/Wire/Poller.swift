import CGatewayShims
import Glibc

/// An epoll instance. The owner chooses the token of each descriptor.
struct Poller: ~Copyable {
    private let epoll: Int32
    private let events: UnsafeMutablePointer<gateway_epoll_event>
    private static let batch = 256

    init() throws(SocketError) {
        epoll = gateway_epoll_create()
        guard epoll >= 0 else { throw SocketError("epoll_create1", code: -epoll) }
        events = .allocate(capacity: Self.batch)
    }

    deinit {
        close(epoll)
        events.deallocate()
    }

    func add(_ descriptor: Int32, writing: Bool = false, token: Int) {
        _ = gateway_epoll_add(epoll, descriptor, Self.interest(writing), UInt64(token))
    }

    func modify(_ descriptor: Int32, writing: Bool, token: Int) {
        _ = gateway_epoll_modify(epoll, descriptor, Self.interest(writing), UInt64(token))
    }

    /// Waits for events for at most the given number of nanoseconds (-1: for ever).
    @inline(__always)
    func wait(_ nanoseconds: Int, body: (_ token: Int, _ ready: Ready) -> Void) {
        let count = gateway_epoll_wait_finely(epoll, events, Int32(Self.batch), Int64(nanoseconds))
        var index = 0
        while index < Int(count) {
            body(Int(events[index].token), Ready(events[index].ready))
            index += 1
        }
    }

    /// What a socket is ready for. An error makes it ready to read.
    struct Ready {
        let toRead: Bool
        let toWrite: Bool

        @inline(__always)
        fileprivate init(_ flags: UInt32) {
            toRead = flags & UInt32(GATEWAY_EPOLL_READ | GATEWAY_EPOLL_FAILED) != 0
            toWrite = flags & UInt32(GATEWAY_EPOLL_WRITE) != 0
        }
    }

    private static func interest(_ writing: Bool) -> UInt32 {
        UInt32(writing ? GATEWAY_EPOLL_READ | GATEWAY_EPOLL_WRITE : GATEWAY_EPOLL_READ)
    }
}
