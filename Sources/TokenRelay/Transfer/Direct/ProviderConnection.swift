import Glibc
import Reactor

/// The present user of a connection. Called on the reactor's thread.
protocol ConnectionUser: AnyObject {
    /// Plain text arrived; lent for the call, and the user may change it in place.
    func received(_ bytes: UnsafeMutableRawBufferPointer, on connection: ProviderConnection)
    /// The handshake that `secure` began is done.
    func secured(_ connection: ProviderConnection)
    /// The connection is over; it is closed already.
    func ended(_ end: ConnectionEnd, on connection: ProviderConnection)
}

/// How a connection ended by itself.
enum ConnectionEnd: Equatable {
    /// The peer closed its side.
    case closed
    case failed(TransferFailure)
}

/// What connections receive into, one after the other: none holds a buffer of its own. Belongs to the reactor's thread.
final class ReceiveBuffers {
    /// More than a wake-up of a token stream brings, and little enough that reading it delays no other stream. One TLS record fits.
    private static let size = 16 << 10

    let received = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
    let decrypted = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)

    deinit {
        received.deallocate()
        decrypted.deallocate()
    }
}

/// A connection to a provider: bytes in both directions, encrypted when it was secured. Belongs to the reactor's thread.
///
/// One wake-up is one `recv`, and hands over all it brought. When it brings as much as there is room for, the next one is deferred: a peer that sends
/// faster than it is read takes its turn with all the others. So is each step of a handshake, which takes about as long as 200 tokens.
final class ProviderConnection: ReadinessHandler, DeferredWork {
    private enum Security {
        case none
        case handshaking(TLSSession)
        case secured(TLSSession)
    }

    let origin: Origin
    var user: (any ConnectionUser)?
    /// While it is idle: how long it may be kept.
    var idleUntil: Moment?
    /// Bytes that the kernel has taken over so far, those of handshakes included.
    private(set) var sentBytes = 0
    /// When the connection ended by itself: bytes of these whose arrival the peer had not acknowledged.
    private(set) var unacknowledgedBytes = 0

    private let descriptor: Int32
    private let reactor: Reactor
    private let buffers: ReceiveBuffers
    private var security = Security.none
    private var watch: Watch?
    private var unsent: ArraySlice<UInt8> = []
    private var isOpen = true
    /// Reading goes on in `continueWork`.
    private var isDeferred = false
    /// The peer has ended its side: a read that brings little is not the last.
    private var isEnding = false

    /// Takes a connected descriptor over.
    init(_ descriptor: Int32, origin: Origin, reactor: Reactor, buffers: ReceiveBuffers) {
        self.descriptor = descriptor
        self.origin = origin
        self.reactor = reactor
        self.buffers = buffers
    }

    /// Whether everything was sent.
    var isQuiet: Bool { unsent.isEmpty }

    /// For an idle connection: takes in what the peer has sent since, such as session tickets or its end. False when it was ended.
    func isStillOpen() -> Bool {
        receive()
        return isOpen
    }

    /// How long a segment and its acknowledgement take, by the kernel's measurement, at the most (RFC 6298 §2: mean and four times the variation).
    var roundTrip: Duration {
        var info = tcp_info()
        var size = socklen_t(MemoryLayout<tcp_info>.size)
        guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0 else { return .zero }
        return .microseconds(Int64(info.tcpi_rtt) + 4 * Int64(info.tcpi_rttvar))
    }

    func begin() throws {
        // The watch holds the connection; `close` lets go of it.
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

    /// Encrypts from now on; `secured` follows when the peer has proved its name.
    func secure(with session: TLSSession) {
        security = .handshaking(session)
        deferReading()
    }

    func send(_ bytes: [UInt8]) {
        switch security {
        case .secured(let session):
            guard session.write(bytes) else { return end(.failed(TransferFailure(kind: .cut))) }
            transmit(session.takeOutput())
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
        if case .handshaking(let session) = security { shakeHands(session) }
        // The socket may have become readable meanwhile, which an edge-triggered watch reports once.
        if !isDeferred { receive() }
    }

    private func deferReading() {
        guard !isDeferred else { return }
        isDeferred = true
        reactor.continueLater(self)
    }

    /// What is left when this returns is read in another wake-up, or deferred.
    private func receive() {
        while isOpen {
            let count = recv(descriptor, buffers.received.baseAddress, buffers.received.count, 0)
            if count > 0 {
                take(UnsafeMutableRawBufferPointer(rebasing: buffers.received[..<count]))
                guard isOpen, !isDeferred else { return }
                if count == buffers.received.count { return deferReading() }
                // Less than there was room for: that was all, and what comes later wakes again.
                if !isEnding { return }
            } else if count == 0 {
                // TLS announces the close (RFC 8446 §6.1): without that, the connection was cut.
                if case .none = security { end(.closed) } else { end(.failed(TransferFailure(kind: isShaking ? .tls : .cut))) }
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
        case .handshaking(let session):
            session.received(UnsafeRawBufferPointer(bytes))
            deferReading()
        case .secured(let session):
            session.received(UnsafeRawBufferPointer(bytes))
            decrypt(session)
        }
    }

    /// Bounded by what was received since the last time, as nothing is compressed: one read, and at most one record that it completed.
    private func decrypt(_ session: TLSSession) {
        var filled = 0
        while isOpen {
            let reading = session.read(into: UnsafeMutableRawBufferPointer(rebasing: buffers.decrypted[filled...]))
            if case .bytes(let count) = reading { filled += count }
            let isFull = filled == buffers.decrypted.count
            if filled > 0, isFull || !reading.hasMore {
                user?.received(UnsafeMutableRawBufferPointer(rebasing: buffers.decrypted[..<filled]), on: self)
                filled = 0
            }
            switch reading {
            case .bytes: continue
            // Reading may have made something to send: an answer to a change of keys.
            case .wait: return transmit(session.takeOutput())
            case .closed: return end(.closed)
            case .broken: return end(.failed(TransferFailure(kind: .cut)))
            }
        }
    }

    private var isShaking: Bool { if case .handshaking = security { true } else { false } }

    private func shakeHands(_ session: TLSSession) {
        let state = session.handshake()
        transmit(session.takeOutput())
        guard isOpen else { return }
        switch state {
        case .inProgress: return
        case .failed(let failure): end(.failed(failure))
        case .done:
            security = .secured(session)
            user?.secured(self)
            // The peer may have sent data right behind its part of the handshake.
            if isOpen { decrypt(session) }
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

extension TLSSession.Reading {
    /// Whether another read may bring more.
    fileprivate var hasMore: Bool { if case .bytes = self { true } else { false } }
}
