import Glibc
import Reactor

/// The current user of a connection, which receives its events on the reactor's thread: the setup, then a transfer or the pool.
protocol ConnectionUser: AnyObject {
    /// Decrypted bytes arrived. The buffer is valid during the call, and the user may change it.
    func received(_ bytes: UnsafeMutableRawBufferPointer, on connection: ProviderConnection)
    /// The TLS handshake that `secure` began has succeeded.
    func secured(_ connection: ProviderConnection)
    /// The connection ended by itself and is closed. Not called after `close`.
    func ended(_ end: ConnectionEnd, on connection: ProviderConnection)
}

/// How a connection ended by itself.
enum ConnectionEnd: Equatable {
    /// The peer closed its side.
    case closed
    case failed(TransferFailure)
}

/// The receive buffers that all connections share, so that an idle connection holds none. Use only on the reactor's thread.
final class ReceiveBuffers {
    /// Larger than what a token stream receives in one wake-up, small enough that parsing it delays no other stream. One TLS record fits.
    private static let size = 16 << 10

    let received = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
    let decrypted = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)

    deinit {
        received.deallocate()
        decrypted.deallocate()
    }
}

/// A TCP connection to a provider, with TLS after `secure`. Use only on the reactor's thread.
///
/// Each wake-up does one `recv` and passes on all that it returned. When the buffer was filled, the next `recv` is deferred, so that a peer
/// that sends faster than it is read does not delay other connections. Each step of a handshake is deferred too: it takes as long as about
/// 200 tokens.
final class ProviderConnection: ReadinessHandler, DeferredWork {
    private enum Security {
        case none
        case handshaking(TLSEngine)
        case secured(TLSEngine)
    }

    let origin: Origin
    var user: (any ConnectionUser)?
    /// Bytes that the kernel has accepted for sending so far, those of the handshake included.
    private(set) var sentBytes = 0
    /// After the connection ended by itself: how many of `sentBytes` the peer had not acknowledged.
    private(set) var unacknowledgedBytes = 0

    private let descriptor: Int32
    private let reactor: Reactor
    private let buffers: ReceiveBuffers
    private var security = Security.none
    private var watch: Watch?
    private var unsent: ArraySlice<UInt8> = []
    private var isOpen = true
    /// Whether `continueWork` is scheduled, which continues reading.
    private var isDeferred = false
    /// The peer has closed its sending side, or the socket failed: read until that end, also after a read that did not fill the buffer.
    private var isEnding = false

    /// Takes ownership of a connected descriptor.
    init(_ descriptor: Int32, origin: Origin, reactor: Reactor, buffers: ReceiveBuffers) {
        self.descriptor = descriptor
        self.origin = origin
        self.reactor = reactor
        self.buffers = buffers
    }

    /// Whether everything was sent.
    var isQuiet: Bool { unsent.isEmpty }

    /// For a pooled connection: processes what the peer has sent since, such as session tickets or its close. False when that ended it.
    func isStillOpen() -> Bool {
        receive()
        return isOpen
    }

    /// An upper bound of the round-trip time, by the kernel's measurement (RFC 6298 §2: smoothed mean plus four times the variation).
    var roundTrip: Duration {
        var info = tcp_info()
        var size = socklen_t(MemoryLayout<tcp_info>.size)
        guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0 else { return .zero }
        return .microseconds(Int64(info.tcpi_rtt) + 4 * Int64(info.tcpi_rttvar))
    }

    /// Begins to receive.
    func begin() throws {
        // The watch retains the connection until `close`.
        watch = try reactor.watch(descriptor, [.read, .edge], self)
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        if let watch { reactor.unwatch(watch) }
        watch = nil
        user = nil
        Glibc.close(descriptor)
    }

    /// Begins the TLS handshake. `secured` follows when the peer's certificate is verified, otherwise `ended`.
    func secure(with engine: TLSEngine) {
        security = .handshaking(engine)
        deferReading()
    }

    func send(_ bytes: [UInt8]) {
        switch security {
        case .secured(let engine):
            guard engine.write(bytes) else { return end(.failed(TransferFailure(kind: .cut))) }
            transmit(engine.takeOutput())
        case .none, .handshaking: transmit(bytes)
        }
    }
}

// MARK: - Readiness

extension ProviderConnection {
    func ready(_ readiness: Readiness) {
        if readiness.contains(.writable) { flush() }
        if !readiness.isDisjoint(with: [.ending, .failed]) { isEnding = true }
        if readiness.contains(.readable), !isDeferred { receive() }
    }

    func continueWork() {
        isDeferred = false
        guard isOpen else { return }
        if case .handshaking(let engine) = security { continueHandshake(engine) }
        // The socket may have become readable meanwhile, which an edge-triggered watch reports once.
        if !isDeferred { receive() }
    }

    private func deferReading() {
        guard !isDeferred else { return }
        isDeferred = true
        reactor.continueLater(self)
    }

    /// Reads until the socket is empty or reading is deferred.
    private func receive() {
        while isOpen {
            let count = recv(descriptor, buffers.received.baseAddress, buffers.received.count, 0)
            if count > 0 {
                take(UnsafeMutableRawBufferPointer(rebasing: buffers.received[..<count]))
                guard isOpen, !isDeferred else { return }
                if count == buffers.received.count { return deferReading() }
                // The buffer was not filled, so the socket is empty; later bytes are reported again.
                if !isEnding { return }
            } else if count == 0 {
                // Over TLS a close must be announced (RFC 8446 §6.1); otherwise the data may be truncated.
                if case .none = security { end(.closed) } else { end(.failed(TransferFailure(kind: isHandshaking ? .tls : .cut))) }
            } else if errno == EAGAIN {
                return
            } else if errno != EINTR {
                end(.failed(TransferFailure(kind: .cut, code: errno)))
            }
        }
    }

    private func take(_ bytes: UnsafeMutableRawBufferPointer) {
        switch security {
        case .none: user?.received(bytes, on: self)
        case .handshaking(let engine):
            engine.received(UnsafeRawBufferPointer(bytes))
            deferReading()
        case .secured(let engine):
            engine.received(UnsafeRawBufferPointer(bytes))
            decrypt(engine)
        }
    }

    /// Decrypts all complete records. The work is bounded by one `recv`, plus one record that it completed.
    private func decrypt(_ engine: TLSEngine) {
        var filled = 0
        while isOpen {
            let reading = engine.read(into: UnsafeMutableRawBufferPointer(rebasing: buffers.decrypted[filled...]))
            if case .bytes(let count) = reading { filled += count }
            let isFull = filled == buffers.decrypted.count
            if filled > 0, isFull || !reading.hasMore {
                user?.received(UnsafeMutableRawBufferPointer(rebasing: buffers.decrypted[..<filled]), on: self)
                filled = 0
            }
            switch reading {
            case .bytes: continue
            // TLS may have produced bytes to send, such as the answer to a key update.
            case .wait: return transmit(engine.takeOutput())
            case .closed: return end(.closed)
            case .broken: return end(.failed(TransferFailure(kind: .cut)))
            }
        }
    }

    private var isHandshaking: Bool { if case .handshaking = security { true } else { false } }

    private func continueHandshake(_ engine: TLSEngine) {
        let state = engine.handshake()
        transmit(engine.takeOutput())
        guard isOpen else { return }
        switch state {
        case .inProgress: return
        case .failed(let failure): end(.failed(failure))
        case .done:
            security = .secured(engine)
            user?.secured(self)
            // The peer may have sent data directly after its part of the handshake.
            if isOpen { decrypt(engine) }
        }
    }

    private func transmit(_ bytes: [UInt8]) {
        guard isOpen, !bytes.isEmpty else { return }
        if unsent.isEmpty { unsent = bytes[...] } else { unsent += bytes }
        flush()
    }

    private func flush() {
        guard !unsent.isEmpty else { return }
        var sent = -1
        repeat {
            sent = unsent.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        } while sent < 0 && errno == EINTR
        if sent >= 0 {
            sentBytes += sent
            unsent = unsent.dropFirst(sent)
            if unsent.isEmpty { unsent = [] }
        } else if errno != EAGAIN {
            return end(.failed(TransferFailure(kind: .cut, code: errno)))
        }
        if let watch { reactor.update(watch, unsent.isEmpty ? [.read, .edge] : [.read, .write, .edge]) }
    }

    private var pendingBytes: Int {
        var count: Int32 = 0
        // SIOCOUTQ, which has the number of TIOCOUTQ (tcp(7)).
        return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
    }

    private func end(_ end: ConnectionEnd) {
        guard isOpen else { return }
        let user = user
        unacknowledgedBytes = pendingBytes
        close()
        user?.ended(end, on: self)
    }
}

extension TLSEngine.Reading {
    /// Whether another read may return more.
    fileprivate var hasMore: Bool { if case .bytes = self { true } else { false } }
}
