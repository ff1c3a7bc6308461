import NIOCore

/// The state machine of one HTTP/1.1 connection: what it waits for, until when, and when it ends. Pure: the clock is an argument;
/// `ConnectionHandler` acts.
///
/// Pipelined requests are decoded as they arrive and answered in order. A request is the connection's last by the client's choice, by ours,
/// or because of a fault. After it nothing more is read until its answer is written; then the connection ends.
struct ConnectionMachine {
    /// What `ConnectionHandler` must do.
    enum Action: Equatable {
        case none
        /// Pass the decoded part to Hummingbird.
        case forward
        /// Make the handler's reading of the body throw the fault. The answer to this request is the connection's last.
        case failBody(RequestFault)
        /// Answer the fault directly, because no handler has the request, and end the connection.
        case reject(RequestFault)
        /// End our side of the connection and discard input for a while.
        case finish
        /// Close at once.
        case close
        /// Close at once, and discard what the client has not taken.
        case reset
    }

    private enum Reading: Equatable {
        /// No byte of the next request has arrived.
        case nothing
        case head
        /// `remaining`: bytes that have not arrived; nil when the body is chunked.
        case body(remaining: Int?)
        /// No further request is read.
        case ended
    }

    private enum Phase: Equatable {
        case open
        /// The last answer is being written.
        case flushing
        /// Our side has ended; input is discarded.
        case lingering(until: NIODeadline, bytes: Int)
        /// Another writer has the socket.
        case detached
    }

    /// What one read from the socket contained.
    private struct Read {
        var bytes = 0
        var bodyBytes = 0
        var parts = 0
        var hasHead = false
        /// Whether the last request that ended in it has no body.
        var endsWithoutBody = false
    }

    /// Output that waits in the channel, because the client does not take what the socket's buffer already has.
    private struct PendingOutput {
        /// Bytes that the client has taken since the connection began.
        var taken: Int
        /// When `taken` was first seen as it is.
        var since: NIODeadline
        var checked: NIODeadline
    }

    private let limits: ConnectionLimits
    private var reading = Reading.nothing
    /// When the wait for `reading` began.
    private var since: NIODeadline
    private var isFirst = true
    private var phase = Phase.open
    /// The number of forwarded requests whose answers have not ended.
    private(set) var unanswered = 0
    /// Whether the request that is being decoded, or was decoded last, is the connection's last.
    private var isLast = false
    /// A fault that is answered after all earlier requests.
    private var deferred: RequestFault?
    private var read = Read()
    private var chunkOverhead = 0
    /// Bytes of all output, encoded.
    private var written = 0
    private var pending: PendingOutput?

    init(_ limits: ConnectionLimits, now: NIODeadline) {
        self.limits = limits
        since = now
    }

    /// Whether input is still decoded as requests.
    var isReading: Bool { phase == .open && reading != .ended }

    /// Whether a request's head has arrived, and its end has not.
    var isReadingBody: Bool { if case .body = reading { true } else { false } }

    /// Whether the last answer is written and the connection closes by itself.
    var isEnding: Bool {
        switch phase {
        case .flushing, .lingering: true
        case .open, .detached: false
        }
    }

    /// When to call `outputObserved` and then `timeout`; nil while only our own work is awaited.
    var deadline: NIODeadline? {
        guard let pending else { return inputDeadline }
        // The channel does not report when the client takes something of what is in the socket's buffer.
        let check = min(pending.checked + limits.progressCheck, pending.since + limits.idle)
        return inputDeadline.map { min($0, check) } ?? check
    }

    /// Until when the client must send something.
    private var inputDeadline: NIODeadline? {
        switch phase {
        case .lingering(let until, _): return until
        case .flushing, .detached: return nil
        case .open: break
        }
        switch reading {
        // A client that still takes its last answer is not idle.
        case .nothing where unanswered == 0 && pending != nil: return nil
        case .nothing where unanswered == 0: return since + (isFirst ? limits.head : limits.idle)
        case .head where unanswered == 0: return since + limits.head
        // While an earlier answer is written nothing is read, so the client is not late.
        case .body where unanswered <= 1: return since + limits.body
        case .nothing, .head, .body, .ended: return nil
        }
    }

    // MARK: Reading

    /// A read from the socket, before it is decoded.
    mutating func bytesArrived(_ count: Int) { read = Read(bytes: count) }

    /// The read was decoded. `isBlank`: it had only line ends, which may precede a request line (RFC 9112 §2.2) and do not begin a request.
    /// `endsHead`: its last bytes are an empty line; after a request without a body others begin the next request.
    mutating func bytesDecoded(isBlank: Bool, endsHead: Bool, now: NIODeadline) -> Action {
        guard phase == .open else { return .none }
        if reading == .nothing, read.parts == 0 ? !isBlank : read.endsWithoutBody && !endsHead {
            reading = .head
            if !isFirst { since = now }
        }
        if case .body(nil) = reading, !read.hasHead {
            // Not below 0: unused allowance of earlier pieces must not add up for a long size line.
            chunkOverhead = max(0, chunkOverhead + read.bytes - read.bodyBytes - read.parts * limits.chunkOverheadPerPiece)
            if chunkOverhead > limits.chunkOverhead { return failBody(.malformed) }
        }
        return .none
    }

    /// A head was decoded. `closes`: this request is the connection's last, by the client's choice or its protocol version. `length`: of
    /// the body; nil when it is chunked.
    mutating func headArrived(_ fault: RequestFault?, closes: Bool, length: Int?, now: NIODeadline) -> Action {
        guard isReading else { return .none }
        read.parts += 1
        read.hasHead = true
        chunkOverhead = 0
        isFirst = false
        if let fault { return reject(fault) }
        unanswered += 1
        isLast = closes
        reading = .body(remaining: length)
        since = now
        return .forward
    }

    mutating func bodyArrived(_ count: Int) -> Action {
        guard isReading, case .body(let remaining) = reading else { return .none }
        read.parts += 1
        read.bodyBytes += count
        reading = .body(remaining: remaining.map { $0 - count })
        return .forward
    }

    mutating func requestEnded(now: NIODeadline) -> Action {
        guard isReading else { return .none }
        read.parts += 1
        read.endsWithoutBody = reading == .body(remaining: 0)
        reading = isLast ? .ended : .nothing
        since = now
        return .forward
    }

    /// The input is not HTTP, or exceeds a limit.
    mutating func decodingFailed(_ fault: RequestFault) -> Action {
        guard isReading else { return .none }
        if case .body = reading { return failBody(fault) }
        return reject(fault)
    }

    /// The client has closed its sending side.
    func inputEnded() -> Action { if case .lingering = phase { .close } else { .none } }

    /// Counts input after the last answer.
    mutating func discarded(_ count: Int) {
        if case .lingering(let until, let bytes) = phase { phase = .lingering(until: until, bytes: bytes + count) }
    }

    /// Whether to read and discard more input. Beyond the limit nothing is read until the connection is closed.
    var discards: Bool { if case .lingering(_, let bytes) = phase { bytes < limits.lingerBytes } else { false } }

    // MARK: Answering

    /// The head of an answer is written. `closes`: it has `Connection: close`. Returns whether it must have that.
    mutating func answerBegan(closes: Bool) -> Bool {
        // With more unanswered requests this is the answer to an earlier one.
        guard unanswered == 1 else { return false }
        switch reading {
        case .body(let remaining) where remaining.map({ $0 > limits.drainedBody }) ?? true: isLast = true
        default: break
        }
        guard isLast || closes else { return false }
        isLast = true
        if reading == .nothing || reading == .head { reading = .ended }
        return true
    }

    mutating func answerEnded(now: NIODeadline) -> Action {
        unanswered -= 1
        guard unanswered == 0 else {
            // The next request's body was not read during this answer, so its time limit begins now.
            if isReadingBody { since = now }
            return .none
        }
        if let deferred { return .reject(deferred) }
        if isLast { return .finish }
        if !isReadingBody { since = now }
        return .none
    }

    // MARK: Output

    /// Output was encoded and is written to the channel.
    mutating func bytesWritten(_ count: Int) { written += count }

    /// Whether the channel held output when it was last observed.
    var hasPendingOutput: Bool { pending != nil }

    /// Output was flushed, or the deadline has passed. `held`: bytes that the channel still holds, because the socket's buffer is full.
    /// `unacknowledged`: bytes in that buffer that the client's system has not acknowledged. They count, because the kernel asks for more
    /// only when a third of its buffer, of up to some megabytes, is free: a slow client needs minutes for that.
    mutating func outputObserved(held: Int, unacknowledged: Int, now: NIODeadline) {
        switch phase {
        case .lingering, .detached: return
        case .open where held == 0:
            if pending != nil, reading == .nothing { since = now }
            pending = nil
        case .open, .flushing:
            let taken = written - held - unacknowledged
            if pending.map({ taken > $0.taken }) ?? true { pending = PendingOutput(taken: taken, since: now, checked: now) }
            pending?.checked = now
        }
    }

    // MARK: The end

    /// The last answer is being written to the socket.
    mutating func finishes(now: NIODeadline) {
        reading = .ended
        phase = .flushing
        if pending == nil { pending = PendingOutput(taken: 0, since: now, checked: now) }
    }

    /// Our side of the connection has ended.
    mutating func finished(now: NIODeadline) {
        guard phase != .detached else { return }
        reading = .ended
        pending = nil
        phase = .lingering(until: now + limits.linger, bytes: 0)
    }

    /// Another writer has the socket from now on.
    mutating func detached() {
        reading = .ended
        pending = nil
        phase = .detached
    }

    mutating func timeout(now: NIODeadline) -> Action {
        if let pending, now >= pending.since + limits.idle { return .reset }
        guard let inputDeadline, now >= inputDeadline else { return .none }
        switch reading {
        case .head: return reject(.headTooSlow)
        case .body where unanswered > 0: return failBody(.bodyTooSlow)
        case .nothing, .body, .ended: return .close
        }
    }

    private mutating func failBody(_ fault: RequestFault) -> Action {
        reading = .ended
        isLast = true
        // If the request was already answered, only the connection must end: the start of the next request is unknown.
        return unanswered == 0 ? .finish : .failBody(fault)
    }

    private mutating func reject(_ fault: RequestFault) -> Action {
        reading = .ended
        if unanswered == 0 { return .reject(fault) }
        deferred = fault
        return .none
    }
}
