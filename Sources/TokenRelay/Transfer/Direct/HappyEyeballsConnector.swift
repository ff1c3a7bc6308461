import Glibc
import Reactor

/// Connects to one of a host's addresses: the next is tried beside the one before when that does not answer at once, and the first that
/// answers is taken (RFC 8305, "happy eyeballs"). Belongs to the reactor's thread.
final class HappyEyeballsConnector {
    /// RFC 8305 §5 recommends 250 ms.
    private static let patience = Duration.milliseconds(250)

    private let reactor: Reactor
    private let port: UInt16
    private var addresses: ArraySlice<String>
    private var attempts: [(descriptor: Int32, watch: Watch, address: String)] = []
    /// Told of each address that refused, or had not answered when another or the end of patience came.
    private let onFailedAddress: (String) -> Void
    private var next: TimerHandle?
    private var failure = TransferFailure(kind: .connect)
    /// Called once with a connected socket, or why there is none; nil when over.
    private var onEnd: ((Result<Int32, TransferFailure>) -> Void)?

    /// - Parameter addresses: numeric, in the order in which they are preferred; at least one.
    init(
        _ addresses: [String], port: UInt16, on reactor: Reactor, onFailedAddress: @escaping (String) -> Void,
        onEnd: @escaping (Result<Int32, TransferFailure>) -> Void
    ) {
        self.reactor = reactor
        self.port = port
        self.addresses = addresses[...]
        self.onFailedAddress = onFailedAddress
        self.onEnd = onEnd
    }

    func begin() { tryNext() }

    func cancel() { finish(nil) }

    /// No time is left: addresses that have not answered count as failed.
    func giveUp() {
        for attempt in attempts { onFailedAddress(attempt.address) }
        finish(nil)
    }

    private func tryNext() {
        next?.cancel()
        while onEnd != nil {
            guard let address = addresses.popFirst() else {
                if attempts.isEmpty { finish(.failure(failure)) }
                return
            }
            do throws(TransferFailure) {
                try start(address)
                if !addresses.isEmpty { next = reactor.schedule(after: Self.patience) { [self] in tryNext() } }
                return
            } catch {
                failure = error
                if error.kind == .connect { onFailedAddress(address) }
            }
        }
    }

    private func start(_ address: String) throws(TransferFailure) {
        let descriptor = try SocketAddress.connect(to: address, port)
        do {
            let watch = try reactor.watch(descriptor, .write) { [self] _ in answered(descriptor) }
            attempts.append((descriptor, watch, address))
        } catch {
            close(descriptor)
            throw TransferFailure(kind: .other, code: (error as? ReactorError)?.code ?? 0)
        }
    }

    private func answered(_ descriptor: Int32) {
        guard let index = attempts.firstIndex(where: { $0.descriptor == descriptor }) else { return }
        let attempt = attempts.remove(at: index)
        reactor.unwatch(attempt.watch)
        let code = SocketAddress.error(of: descriptor)
        if code == 0 {
            // Those begun before it had longer and did not answer; those begun after it had no chance yet.
            for slower in attempts[..<index] { onFailedAddress(slower.address) }
            return finish(.success(descriptor))
        }
        close(descriptor)
        onFailedAddress(attempt.address)
        failure = TransferFailure(kind: .connect, code: code)
        if addresses.isEmpty, !attempts.isEmpty { return }
        tryNext()
    }

    private func finish(_ result: Result<Int32, TransferFailure>?) {
        guard let onEnd else { return }
        self.onEnd = nil
        next?.cancel()
        for attempt in attempts {
            reactor.unwatch(attempt.watch)
            close(attempt.descriptor)
        }
        attempts = []
        if let result { onEnd(result) }
    }
}

/// Sockets by numeric address.
enum SocketAddress {
    /// Begins to connect; the socket becomes writable when it is decided. It does not wait, is not inherited, sends at once (no Nagle), and
    /// notices a peer that vanished.
    static func connect(to address: String, _ port: UInt16) throws(TransferFailure) -> Int32 {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(address, "\(port)", &hints, &list)
        guard code == 0, let list else { throw TransferFailure(kind: .resolve, code: code) }
        defer { freeaddrinfo(list) }
        let flags = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(list.pointee.ai_family, flags, 0)
        guard descriptor >= 0 else { throw TransferFailure(kind: .other, code: errno) }
        set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
        set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, 30)
        set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, 10)
        if Glibc.connect(descriptor, list.pointee.ai_addr, list.pointee.ai_addrlen) != 0, errno != EINPROGRESS {
            let reason = errno
            close(descriptor)
            throw TransferFailure(kind: .connect, code: reason)
        }
        return descriptor
    }

    /// How connecting went: 0, or an `errno`.
    static func error(of descriptor: Int32) -> Int32 {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 ? code : errno
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        // An option that the system does not know costs a little comfort and nothing else.
        _ = setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
