import Glibc
import Reactor

/// Opens a TCP connection to one of a host's addresses ("happy eyeballs", RFC 8305): when an attempt has not succeeded after 250 ms, the
/// next address is tried in parallel, and the first that accepts is used. Use only on the reactor's thread.
final class HappyEyeballsConnector {
    /// The time after which the next address is tried in parallel, as RFC 8305 §5 recommends.
    private static let attemptDelay = Duration.milliseconds(250)

    private let reactor: Reactor
    private let port: UInt16
    private var addresses: ArraySlice<String>
    private var attempts: [(descriptor: Int32, watch: Watch, address: String)] = []
    /// Called for each address that refused, or had not answered when a later one succeeded or the time was over.
    private let onFailedAddress: (String) -> Void
    private var next: TimerHandle?
    private var failure = TransferFailure(kind: .connect)
    /// Called once, with a connected socket or an error; nil after the end.
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

    /// Ends without calling `onEnd`.
    func cancel() { finish(nil) }

    /// Ends without calling `onEnd`, because the time is over; addresses that have not answered count as failed.
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
                if !addresses.isEmpty { next = reactor.schedule(after: Self.attemptDelay) { [self] in tryNext() } }
                return
            } catch {
                failure = error
                if error.kind == .connect { onFailedAddress(address) }
            }
        }
    }

    private func start(_ address: String) throws(TransferFailure) {
        let descriptor = try TCPSocket.connect(to: address, port)
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
        let code = TCPSocket.error(of: descriptor)
        if code == 0 {
            // Attempts that began earlier and have not answered count as failed; later ones do not.
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

/// The system calls with which a TCP socket is connected. Uses numeric addresses only.
enum TCPSocket {
    /// Begins to connect and returns the socket, which becomes writable when connecting has succeeded or failed. It is non-blocking, closed
    /// on exec, and has TCP_NODELAY and keepalive.
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

    /// The result of connecting: 0, or an `errno`.
    static func error(of descriptor: Int32) -> Int32 {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 ? code : errno
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        // A failure is ignored: these options only improve latency and the detection of lost peers.
        _ = setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
