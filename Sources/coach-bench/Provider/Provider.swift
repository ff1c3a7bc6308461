import CLibSSL
import Glibc

/// A simulated provider of language models with minimal CPU use: one epoll thread, one write per token, no allocation per token.
///
/// Answers `POST` to any path with a stream by the workload. `GET /workload?pace=20&tokens=400` changes the workload of later answers and
/// returns the counters.
final class Provider {
    private let listener: Int32
    let port: UInt16
    /// The listener with TLS; -1 for none.
    private let secureListener: Int32
    private let tls: TLSServer?
    private let tick: UInt64
    private var workload: Workload
    let poller: Poller
    private let answer = AnswerBytes()
    let connections: UnsafeMutablePointer<ProviderConnection>
    private let capacity: Int
    private var heap: DueHeap
    /// The descriptors of connections that write without pace, each at most once.
    private var unpaced: [Int32] = []
    private let inbox: UnsafeMutableRawBufferPointer
    private var random = SystemRandomNumberGenerator()
    var counters = Counters()

    struct Counters {
        var requests = 0
        var active = 0
        var tokens = 0
        var ended = 0
        var cut = 0
        /// Writes that the socket did not accept completely.
        var blocked = 0
    }

    /// - Parameters:
    ///   - secure: a second port, with TLS.
    ///   - tick: nanoseconds; tokens that are due within one tick are sent at one wake-up.
    init(host: String, port: UInt16, secure: (port: UInt16, server: TLSServer)?, tick: UInt64, workload: Workload, fileLimit: Int) throws {
        (listener, self.port) = try Socket.listen(host: host, port: port)
        secureListener = try secure.map { try Socket.listen(host: host, port: $0.port).descriptor } ?? -1
        tls = secure?.server
        self.tick = max(1, tick)
        self.workload = workload
        poller = try Poller()
        capacity = fileLimit
        connections = .allocate(capacity: fileLimit)
        connections.initialize(repeating: ProviderConnection(), count: fileLimit)
        heap = DueHeap(capacity: 2 * fileLimit)
        unpaced.reserveCapacity(fileLimit)
        inbox = .allocate(byteCount: 65_536, alignment: 16)
        poller.add(listener, token: Int(listener))
        if secureListener >= 0 { poller.add(secureListener, token: Int(secureListener)) }
        // OpenSSL writes without MSG_NOSIGNAL, so that a closed socket raises SIGPIPE.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Serves until the process ends.
    func run() -> Never {
        while true {
            poller.wait(pollTimeout) { token, ready in
                if token == Int(listener) || token == Int(secureListener) {
                    acceptAll(Int32(token))
                } else {
                    handle(Int32(token), ready)
                }
            }
            writeDue()
            writeUnpaced()
        }
    }

    private var pollTimeout: Int {
        if !unpaced.isEmpty { return 0 }
        guard let first = heap.first else { return -1 }
        let now = Clock.now()
        let wake = (first.due + tick - 1) / tick * tick
        return wake <= now ? 0 : Int(wake - now)
    }

    private func acceptAll(_ listener: Int32) {
        while let descriptor = Socket.accept(listener) {
            guard Int(descriptor) < capacity else {
                close(descriptor)
                continue
            }
            connections[Int(descriptor)].phase = .head
            connections[Int(descriptor)].head.clear()
            if listener == secureListener { connections[Int(descriptor)].session = tls?.session(descriptor) }
            poller.add(descriptor, token: Int(descriptor))
        }
    }

    private func handle(_ descriptor: Int32, _ ready: Poller.Ready) {
        if ready.toWrite, connections[Int(descriptor)].isBlocked { unblock(descriptor) }
        guard ready.toRead else { return }
        while connections[Int(descriptor)].phase != .free {
            let session = connections[Int(descriptor)].session
            let count: Int
            if let session {
                count = TLSServer.result(session, SSL_read(session, inbox.baseAddress, Int32(inbox.count)))
            } else {
                count = recv(descriptor, inbox.baseAddress, inbox.count, 0)
            }
            if count > 0 {
                read(descriptor, UnsafeRawBufferPointer(start: inbox.baseAddress, count: count))
                if count < inbox.count, session == nil { return }
            } else {
                if count < 0, errno == EAGAIN { return }
                drop(descriptor)
            }
        }
    }

    private func read(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) {
        let connection = connections + Int(descriptor)
        var bytes = bytes
        if connection.pointee.phase == .head {
            let (count, isComplete) = connection.pointee.head.take(bytes)
            guard isComplete else { return }
            bytes = UnsafeRawBufferPointer(rebasing: bytes[count...])
            if connection.pointee.head.line.hasPrefix("GET ") { return report(descriptor) }
            connection.pointee.bodyLeft = connection.pointee.head.field("content-length").flatMap { Int($0) } ?? 0
            if connection.pointee.head.field("expect") != nil {
                send(descriptor, Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
            }
            connection.pointee.phase = .body
        }
        guard connection.pointee.phase == .body else { return }
        connection.pointee.bodyLeft -= min(bytes.count, connection.pointee.bodyLeft)
        if connection.pointee.bodyLeft == 0 { begin(descriptor) }
    }

    // MARK: Answers

    private func begin(_ descriptor: Int32) {
        let connection = connections + Int(descriptor)
        counters.requests += 1
        if workload.rejected > 0, Double.random(in: 0..<1, using: &random) < workload.rejected {
            connection.pointee.phase = .head
            connection.pointee.head.clear()
            return send(descriptor, Self.rejection)
        }
        counters.active += 1
        connection.pointee.phase = .answering
        connection.pointee.serial &+= 1
        connection.pointee.tokensLeft = workload.tokens
        connection.pointee.period = workload.period
        connection.pointee.pack = workload.pack
        connection.pointee.isFirst = true
        connection.pointee.isClosing = false
        connection.pointee.breaksAt = -1
        if workload.cut > 0, Double.random(in: 0..<1, using: &random) < workload.cut {
            connection.pointee.breaksAt = Int.random(in: 0..<workload.tokens, using: &random)
        }
        send(descriptor, answer.opening)
        let first = UInt64(workload.firstToken) * 1_000_000
        if first > 0 {
            heap.push(.init(due: Clock.now() + first, connection: descriptor, serial: connection.pointee.serial))
        } else {
            advance(descriptor, due: Clock.now())
        }
    }

    /// Writes the tokens that are due and schedules the next ones.
    private func advance(_ descriptor: Int32, due: UInt64) {
        let connection = connections + Int(descriptor)
        // Tokens for a blocked socket are delayed, not dropped.
        if !connection.pointee.isBlocked { write(descriptor) }
        guard connection.pointee.phase == .answering, !connection.pointee.isClosing else { return }
        let period = connection.pointee.period
        guard period > 0 else {
            if !connection.pointee.isBlocked { addUnpaced(descriptor) }
            return
        }
        // The second token is sent at a random time within the period, so that streams that began together do not write together.
        let next = connection.pointee.isFirst ? due + UInt64.random(in: 1...period, using: &random) : due + period
        connection.pointee.isFirst = false
        heap.push(.init(due: next, connection: descriptor, serial: connection.pointee.serial))
    }

    @inline(__always)
    private func write(_ descriptor: Int32) {
        let connection = connections + Int(descriptor)
        let count = min(connection.pointee.pack, connection.pointee.tokensLeft)
        connection.pointee.tokensLeft -= count
        counters.tokens += count
        transmit(descriptor, answer.stamped(count, at: Clock.now()))
        if connection.pointee.breaksAt >= connection.pointee.tokensLeft { return drop(descriptor) }
        if connection.pointee.tokensLeft == 0, connection.pointee.phase == .answering {
            connection.pointee.isClosing = true
            send(descriptor, answer.closing)
            if !connection.pointee.isBlocked { finish(descriptor) }
        }
    }

    func finish(_ descriptor: Int32) {
        let connection = connections + Int(descriptor)
        guard connection.pointee.phase == .answering else { return }
        counters.active -= 1
        counters.ended += 1
        connection.pointee.phase = .head
        connection.pointee.head.clear()
    }

    private func writeDue() {
        guard heap.count > 0 else { return }
        let now = Clock.now()
        while let first = heap.first, first.due <= now {
            heap.pop()
            let connection = connections + Int(first.connection)
            guard connection.pointee.phase == .answering, connection.pointee.serial == first.serial else { continue }
            advance(first.connection, due: first.due)
        }
    }

    /// Writes a few tokens to each unpaced connection that is not blocked.
    private func writeUnpaced() {
        var kept = 0
        let count = unpaced.count
        for index in 0..<count {
            let descriptor = unpaced[index]
            let connection = connections + Int(descriptor)
            var quota = Self.unpacedQuota
            while quota > 0, connection.pointee.phase == .answering, !connection.pointee.isBlocked, !connection.pointee.isClosing {
                write(descriptor)
                quota -= 1
            }
            if connection.pointee.phase == .answering, !connection.pointee.isBlocked, !connection.pointee.isClosing {
                unpaced[kept] = descriptor
                kept += 1
            } else {
                connection.pointee.isUnpaced = false
            }
        }
        // The loop adds no connection: answers begin in `handle` only.
        unpaced.removeLast(count - kept)
    }

    private static let unpacedQuota = 4

    func addUnpaced(_ descriptor: Int32) {
        guard !connections[Int(descriptor)].isUnpaced else { return }
        connections[Int(descriptor)].isUnpaced = true
        unpaced.append(descriptor)
    }

    private func report(_ descriptor: Int32) {
        let connection = connections + Int(descriptor)
        let target = connection.pointee.head.line.split(separator: " ").dropFirst().first ?? ""
        var isUnderstood = true
        if let mark = target.firstIndex(of: "?") {
            isUnderstood = workload.apply(query: target[target.index(after: mark)...])
        }
        let body =
            #"{"requests":\#(counters.requests),"active":\#(counters.active),"tokens":\#(counters.tokens),"ended":\#(counters.ended),"#
            + #""cut":\#(counters.cut),"blocked":\#(counters.blocked),"cpu_seconds":\#(Clock.processSeconds())}"#
        let status = isUnderstood ? "200 OK" : "400 Bad Request"
        send(
            descriptor,
            Array("HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8))
        connection.pointee.head.clear()
    }
}
