/// Decides what a writer does after each event: write, wait for the socket, end. Pure.
///
/// Inputs that do not fit the state change nothing: signals, timers and readiness of one wake-up may come in any order, after the end too.
struct StreamWriterMachine {
    enum Action: Equatable {
        case none
        /// Write the next piece, and report it by `wrote`.
        case writeNext
        /// Write the next piece later: it would keep the streams of others waiting.
        case deferNext
        /// Tell the client to resume elsewhere, and report it by `wrote` as the last bytes.
        case writeRetry
        /// The connection is over.
        case end(StreamResult)
    }

    /// What follows the bytes that were written.
    enum Following: Equatable {
        /// Nothing, before a signal.
        case signal
        /// Another piece, which is there already.
        case piece
        /// Nothing: these were the last.
        case end(StreamResult)
    }

    private enum State {
        /// Everything was sent; a signal brings more.
        case idle
        /// The next piece is written in a moment.
        case deferred
        /// The socket did not take these bytes; with a result, they are the last.
        case blocked(unsent: ArraySlice<UInt8>, StreamResult?)
        case over
    }

    private var state = State.idle

    var isOver: Bool { if case .over = state { true } else { false } }

    /// Whether a write may begin: nothing waits for the socket.
    var mayWrite: Bool {
        switch state {
        case .idle, .deferred: true
        case .blocked, .over: false
        }
    }

    /// Whether bytes wait for the socket.
    var isBlocked: Bool { if case .blocked = state { true } else { false } }

    /// What waits for the socket, and whether it is the last; nil: nothing.
    var unsent: (bytes: ArraySlice<UInt8>, isLast: Bool)? {
        if case .blocked(let bytes, let result) = state { (bytes, result != nil) } else { nil }
    }

    /// The turn has more text, or its end.
    mutating func progressed() -> Action {
        if case .idle = state { .writeNext } else { .none }
    }

    /// The deferred piece is due.
    mutating func continued() -> Action {
        guard case .deferred = state else { return .none }
        state = .idle
        return .writeNext
    }

    /// The client is to resume elsewhere. A client that takes nothing learns it by the end of the connection: what it has not received it will
    /// request again.
    mutating func handOver() -> Action {
        switch state {
        case .idle, .deferred: return .writeRetry
        case .blocked(_, nil): return end(.gone)
        case .blocked, .over: return .none
        }
    }

    /// The socket took `sent` of these bytes.
    mutating func wrote(_ sent: Int, of bytes: ArraySlice<UInt8>, _ following: Following) -> Action {
        guard mayWrite else { return .none }
        if sent < bytes.count {
            // A copy: the bytes stand in a buffer that all writers share.
            let rest = ArraySlice(Array(bytes.dropFirst(sent)))
            if case .end(let result) = following { state = .blocked(unsent: rest, result) } else { state = .blocked(unsent: rest, nil) }
            return .none
        }
        switch following {
        case .signal: return .none
        case .piece:
            state = .deferred
            return .deferNext
        case .end(let result): return end(result)
        }
    }

    /// The socket took so many of the bytes that waited.
    mutating func sentWaiting(_ sent: Int) -> Action {
        guard case .blocked(let unsent, let result) = state else { return .none }
        guard sent == unsent.count else {
            state = .blocked(unsent: unsent.dropFirst(sent), result)
            return .none
        }
        if let result { return end(result) }
        state = .idle
        return .writeNext
    }

    /// The connection broke, or its client took nothing for too long.
    mutating func end(_ result: StreamResult) -> Action {
        guard !isOver else { return .none }
        state = .over
        return .end(result)
    }
}
