import CoachCore
import Glibc
import Reactor

/// Writes a turn to one client's socket: opening events, the text after its cursor, terminal events. Use only on the reactor's thread.
///
/// No text is queued for a slow client: at most one write that the socket did not take waits in the machine. Later text is read from the
/// turn's answer when the socket is writable again.
final class StreamWriter: ReadinessHandler, DeferredWork {
    /// The most bytes that a client may send in one wake-up after its request, where none are expected; with more, its stream ends.
    private static let maximumInputBytes = 64 * 1024

    private let turn: LiveTurn
    private let subscriber: Subscriber
    private let format: any StreamFormat
    private let pieceBytes: Int
    private let descriptor: Int32
    /// HTTP/1.0 has no chunked coding: its body ends with the connection (RFC 9112 §6.1).
    private let isChunked: Bool
    private unowned let streamLoop: StreamLoopDriver
    private let reactor: Reactor
    private let onEnd: @Sendable (StreamResult) -> Void

    private var machine = StreamWriterMachine()
    private var cursor: Cursor
    private var timers: StreamTimers
    private var timer: TimerHandle?
    private var watch: Watch?
    /// Whether the watch waits for the socket to take more.
    private var isWaitingForSocket = false

    /// Takes ownership of the descriptor.
    init(_ request: StreamRequest, streamLoop: StreamLoopDriver) {
        turn = request.turn
        subscriber = request.subscriber
        format = request.format
        pieceBytes = request.format.pieceBytes
        descriptor = request.descriptor
        isChunked = request.isChunked
        cursor = request.cursor
        onEnd = request.onEnd
        self.streamLoop = streamLoop
        reactor = streamLoop.reactor
        timers = StreamTimers(streamLoop.limits, now: .now)
    }

    func begin() {
        // A subscriber that was handed over before ends the writer as soon as it listens.
        guard !machine.isOver else { return }
        // Fails only when the kernel has no memory.
        watch = try? reactor.watch(descriptor, interest, self)
        guard watch != nil else { return perform(machine.end(.gone)) }
        turn.align(&cursor)
        write(.signal) { format.appendOpeningEvents(into: &$0) }
        // The first write fails when the client has disconnected.
        guard !machine.isOver else { return }
        setTimer()
        perform(machine.progressed())
    }

    func signalled(_ signal: Subscriber.Signal) {
        switch signal {
        case .progressed: perform(machine.progressed())
        case .handOver: perform(machine.handOver())
        }
    }

    func continueWork() { perform(machine.continued()) }

    private func perform(_ action: StreamWriterMachine.Action) {
        switch action {
        case .none: break
        case .writeNext: writeNext()
        case .deferNext: reactor.continueLater(self)
        case .writeRetry: write(.end(.handedOver)) { format.appendRetry(into: &$0) }
        case .end(let result): end(result)
        }
    }
}

// MARK: - Writing

extension StreamWriter {
    /// Writes the next piece of text, or the terminal events.
    private func writeNext() {
        if subscriber.deliversAtEnd, turn.ending == nil { return }
        var following = StreamWriterMachine.Following.signal
        streamLoop.frame.fill { output in
            let step = turn.step(&cursor, maximum: pieceBytes) { piece, cursor in
                format.appendText(piece, cursor: cursor, into: &output)
            }
            switch step {
            case .text(let isLast): following = isLast ? .signal : .piece
            case .waiting: break
            case .ended(let ending):
                format.appendTerminalEvents(ending, keptBytes: turn.releasedBytes, cursor: cursor.position, into: &output)
                following = .end(.complete)
            }
        }
        writeFrame(following)
    }

    private func write(_ following: StreamWriterMachine.Following, _ body: (inout [UInt8]) -> Void) {
        streamLoop.frame.fill(body)
        writeFrame(following)
    }

    private func writeFrame(_ following: StreamWriterMachine.Following) {
        let isLast = if case .end = following { true } else { false }
        if isLast, isChunked { streamLoop.frame.finish() }
        let framed = isChunked ? streamLoop.frame.framed : streamLoop.frame.content
        guard !framed.isEmpty || isLast else { return }
        guard let sent = send(framed, isLast: isLast) else { return perform(machine.end(.gone)) }
        settle(sent, machine.wrote(sent, of: framed, following))
    }

    /// The socket is writable again.
    private func writeWaiting() {
        guard let (bytes, isLast) = machine.unsent else { return }
        guard let sent = send(bytes, isLast: isLast) else { return perform(machine.end(.gone)) }
        settle(sent, machine.sentWaiting(sent))
    }

    private func settle(_ sent: Int, _ action: StreamWriterMachine.Action) {
        let isBlocked = machine.isBlocked
        if sent > 0 { timers.wrote(isWaiting: isBlocked, at: .now) } else { timers.tookNothing(at: .now) }
        // Runs for each token, so the watch is updated only on a change.
        if isWaitingForSocket != isBlocked {
            isWaitingForSocket = isBlocked
            if let watch { reactor.update(watch, interest) }
        }
        perform(action)
    }

    /// Returns how many bytes the socket took; nil when the connection is broken.
    private func send(_ bytes: ArraySlice<UInt8>, isLast: Bool) -> Int? {
        guard !bytes.isEmpty else { return 0 }
        var flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        // Sends the last bytes and the connection's end in one segment.
        if isLast { flags |= Int32(MSG_MORE) }
        let sent = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, flags) }
        if sent >= 0 { return sent }
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : nil
    }
}

// MARK: - Socket and time

extension StreamWriter {
    private var interest: Interest { isWaitingForSocket ? [.read, .write, .edge] : [.read, .edge] }

    func ready(_ readiness: Readiness) {
        if readiness.contains(.failed) { return perform(machine.end(.gone)) }
        if readiness.contains(.readable) { discardInput() }
        // The client has closed its sending side or the whole connection; only a write shows which.
        if readiness.contains(.ending), machine.mayWrite { write(.signal) { format.appendHeartbeat(into: &$0) } }
        if readiness.contains(.writable) { writeWaiting() }
    }

    /// Discards what the client sends; after `Connection: close` no response to it is expected (RFC 9112 §9.6). It must be read, because
    /// closing a socket with unread bytes resets the connection, and the client may then lose the end of the stream.
    private func discardInput() {
        var received = 0
        while received <= Self.maximumInputBytes {
            let count = recv(descriptor, streamLoop.discarded.baseAddress, streamLoop.discarded.count, Int32(MSG_DONTWAIT))
            if count > 0 { received += count } else if count == 0 || errno != EINTR { return }
        }
        perform(machine.end(.gone))
    }

    /// Sets the timer for the next deadline. Writes move the deadline later without changing the timer, which is set again when it fires
    /// early.
    private func setTimer() {
        let wait = MonotonicInstant.now.duration(to: timers.deadline)
        timer = reactor.schedule(after: max(wait, .zero)) { [self] in
            switch timers.due(at: .now) {
            case .none: break
            case .heartbeat: write(.signal) { format.appendHeartbeat(into: &$0) }
            case .cutOff: perform(machine.end(.stalled))
            }
            if !machine.isOver { setTimer() }
        }
    }

    /// Closes the socket and removes all strong references to the writer, from subscriber, timer, watch and driver. They are strong,
    /// because an object with a weak reference makes every other reference to it slower.
    private func end(_ result: StreamResult) {
        subscriber.removeListener()
        timer?.cancel()
        if let watch { reactor.unwatch(watch) }
        watch = nil
        discardInput()
        close(descriptor)
        turn.remove(subscriber)
        streamLoop.forget(self)
        onEnd(result)
    }
}

/// Forwards a subscriber's signals to its writer: by a direct call on the writer's thread, otherwise by a submission to it.
struct StreamWriterListener: SubscriberListener {
    let writer: ReactorBound<StreamWriter>

    func signalled(_ signal: Subscriber.Signal) {
        if let writer = writer.ifCurrent { return writer.signalled(signal) }
        writer.submit { $0.signalled(signal) }
    }
}
