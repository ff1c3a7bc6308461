import CoachCore
import Glibc
import Reactor

/// Tells a turn to one client: greeting, everything after its cursor, the end. Belongs to the reactor's thread.
///
/// Nothing is queued for a slow client: what its socket does not take at once waits here, at most one write; everything behind it waits where
/// it is, in the answer.
// SAFETY: it is touched on the reactor's thread alone; `signalled` may be called on any, and goes there.
final class StreamWriter: SubscriberListener, ReadinessHandler, DeferredWork, @unchecked Sendable {
    /// Bytes of answer text that one write takes at most: what a slow client holds in memory is one write.
    private static let pieceBytes = 8 * 1024
    /// Bytes that a client may say in one breath while it is told a stream: nothing is expected of it.
    private static let maximumInputBytes = 64 * 1024

    private let turn: LiveTurn
    private let subscriber: Subscriber
    private let format: any StreamFormat
    private let descriptor: Int32
    /// HTTP/1.0 has no chunked coding: its body ends with the connection (RFC 9112 §6.1).
    private let isChunked: Bool
    private unowned let streamLoop: StreamLoopDriver
    private let reactor: Reactor
    private let onEnd: @Sendable (StreamResult) -> Void

    private var cursor: Cursor
    private var timers: StreamTimers
    private var timer: TimerHandle?
    private var watch: Watch?
    /// What the socket did not take.
    private var unsent: ArraySlice<UInt8> = []
    /// Whether the watch waits for the socket to take more.
    private var isBlocked = false
    /// `progressed` goes on in `continueWork`.
    private var isDeferred = false
    /// What ends the line when `unsent` is gone.
    private var closing: StreamResult?
    private var isOver = false

    /// Takes the descriptor over.
    init(_ order: StreamRequest, streamLoop: StreamLoopDriver) {
        turn = order.turn
        subscriber = order.subscriber
        format = order.format
        descriptor = order.descriptor
        isChunked = order.isChunked
        cursor = order.cursor
        onEnd = order.onEnd
        self.streamLoop = streamLoop
        reactor = streamLoop.reactor
        timers = StreamTimers(streamLoop.limits, now: .now)
    }

    func begin() {
        // The client may have been handed over before anybody listened.
        guard !isOver else { return }
        // It fails only when the kernel is out of memory for it.
        watch = try? reactor.watch(descriptor, interest, self)
        guard watch != nil else { return end(.gone) }
        turn.align(&cursor)
        write { format.appendOpeningEvents(into: &$0) }
        // The client may be gone already.
        guard !isOver else { return }
        setTimer()
        progressed()
    }

    func signalled(_ signal: Subscriber.Signal) {
        if reactor.isOnReactorThread { return hear(signal) }
        reactor.submit { self.hear(signal) }
    }

    private func hear(_ signal: Subscriber.Signal) {
        guard !isOver else { return }
        switch signal {
        case .progressed: progressed()
        case .handOver:
            guard closing == nil else { return }
            // No `done`: the client is to resume. What it has not taken it will ask for again.
            closing = .handedOver
            if unsent.isEmpty { write { format.appendRetry(into: &$0) } } else { end(.gone) }
        }
    }

    private var interest: Interest { isBlocked ? [.read, .write, .edge] : [.read, .edge] }

    func ready(_ readiness: Readiness) {
        if readiness.contains(.failed) { return end(.gone) }
        if readiness.contains(.readable) { discardInput() }
        // It sends no more, and may be gone: only a write shows which.
        if readiness.contains(.ending), !isOver, unsent.isEmpty, closing == nil { write { format.appendHeartbeat(into: &$0) } }
        if readiness.contains(.writable), !isOver, !unsent.isEmpty { resume() }
    }

    /// Discards what the client sends. The head announced the end of the connection, so no answer to it is expected (RFC 9112 §9.6); but a
    /// connection that is closed over unread bytes is reset, and its client may lose what it has not read either.
    private func discardInput() {
        var signalled = 0
        while signalled <= Self.maximumInputBytes {
            let count = recv(descriptor, streamLoop.discarded.baseAddress, streamLoop.discarded.count, Int32(MSG_DONTWAIT))
            if count > 0 { signalled += count } else if count == 0 || errno != EINTR { return }
        }
        end(.gone)
    }

    /// Writes one piece of what there is. More than that is deferred: it would keep the streams of others waiting.
    private func progressed() {
        guard !isOver, unsent.isEmpty, closing == nil, !isDeferred else { return }
        if subscriber.deliversAtEnd, turn.ending == nil { return }
        var isWaiting = false
        write { output in
            let step = turn.step(&cursor, maximum: Self.pieceBytes) { piece, cursor in
                format.appendText(piece, cursor: cursor, into: &output)
            }
            switch step {
            case .text(let isLast): isWaiting = isLast
            case .waiting: isWaiting = true
            case .ended(let ending):
                format.appendTerminalEvents(ending, keptBytes: turn.releasedBytes, cursor: cursor.position, into: &output)
                closing = .told
            }
        }
        guard !isWaiting, !isOver, unsent.isEmpty, closing == nil else { return }
        isDeferred = true
        reactor.continueLater(self)
    }

    func continueWork() {
        isDeferred = false
        progressed()
    }

    private func write(_ body: (inout [UInt8]) -> Void) {
        streamLoop.frame.fill(body)
        if closing != nil, isChunked { streamLoop.frame.finish() }
        let framed = isChunked ? streamLoop.frame.framed : streamLoop.frame.content
        guard !framed.isEmpty else { return }
        let sent = send(framed)
        guard !isOver else { return }
        if sent < framed.count { unsent = ArraySlice(Array(framed.dropFirst(sent))) }
        settle(sent)
    }

    /// The socket is writable again.
    private func resume() {
        let sent = send(unsent)
        guard !isOver else { return }
        unsent = unsent.dropFirst(sent)
        if unsent.isEmpty { unsent = [] }
        settle(sent)
        progressed()
    }

    private func settle(_ sent: Int) {
        if sent > 0 { timers.wrote(isWaiting: !unsent.isEmpty, at: .now) } else { timers.refused(at: .now) }
        // Looked at for each token: the watch itself is left alone while nothing changes.
        if isBlocked == unsent.isEmpty {
            isBlocked.toggle()
            if let watch { reactor.update(watch, interest) }
        }
        if unsent.isEmpty, let closing { end(closing) }
    }

    /// Bytes that the socket took. A broken connection ends the line.
    private func send(_ bytes: ArraySlice<UInt8>) -> Int {
        var flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        // The connection's end goes out with the last bytes, in one segment.
        if closing != nil { flags |= Int32(MSG_MORE) }
        let sent = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, flags) }
        if sent >= 0 { return sent }
        if errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR { end(.gone) }
        return 0
    }

    /// The timer is left alone while the deadline only moves away, as it does with every write; when it fires too early, it is set again.
    private func setTimer() {
        let wait = Moment.now.duration(to: timers.deadline)
        timer = reactor.schedule(after: max(wait, .zero)) { [self] in
            switch timers.due(at: .now) {
            case .none: break
            case .heartbeat: write { format.appendHeartbeat(into: &$0) }
            case .cutOff: end(.stalled)
            }
            if !isOver { setTimer() }
        }
    }

    /// Lets go of all that holds the line: bell, timer, watch and driver. Strong references that end here cost less than weak ones, which
    /// make every other reference slow.
    private func end(_ end: StreamResult) {
        guard !isOver else { return }
        isOver = true
        subscriber.stopListening()
        timer?.cancel()
        if let watch { reactor.unwatch(watch) }
        watch = nil
        discardInput()
        close(descriptor)
        turn.remove(subscriber)
        streamLoop.forget(self)
        onEnd(end)
    }
}
