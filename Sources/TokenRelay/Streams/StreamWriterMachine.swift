/// The state machine of a `StreamWriter`: decides after each event whether to write, to wait for the socket, or to end. Pure.
///
/// An input that does not fit the state has no effect: signals, timers and readiness of one wake-up may come in any order, also after the
/// end.
struct StreamWriterMachine {
    enum Action: Equatable {
        case none
        /// Write the next piece, and report it by `wrote`.
        case writeNext
        /// Write the next piece in a later wake-up, so that other streams are served before.
        case deferNext
        /// Write the event that tells the client to resume elsewhere, and report it by `wrote` as the last bytes.
        case writeRetry
        /// Close the connection.
        case end(StreamResult)
    }

    /// What comes after the bytes of one write.
    enum Following: Equatable {
        /// Nothing until the next signal.
        case signal
        /// Another piece of text, which is available now.
        case piece
        /// Nothing: these were the last bytes.
        case end(StreamResult)
    }

    private enum State {
        /// All available text was sent.
        case idle
        /// More text is available; it is written in a later wake-up.
        case deferred
        /// The socket did not take these bytes. With a result, they are the last of the stream.
        case blocked(unsent: ArraySlice<UInt8>, StreamResult?)
        case over
    }

    private var state = State.idle

    var isOver: Bool { if case .over = state { true } else { false } }

    /// Whether a write may begin: no bytes wait for the socket.
    var mayWrite: Bool {
        switch state {
        case .idle, .deferred: true
        case .blocked, .over: false
        }
    }

    /// Whether bytes wait for the socket.
    var isBlocked: Bool { if case .blocked = state { true } else { false } }

    /// The bytes that wait for the socket, and whether they are the last; nil: none wait.
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

    /// The client must resume elsewhere. When the socket is blocked the connection is closed without the event; the client resumes after
    /// the last text that it received.
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
            // A copy, because the bytes are in a buffer that all writers share.
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

    /// The socket took `sent` of the waiting bytes.
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

    /// The connection broke, or the client has read nothing for too long.
    mutating func end(_ result: StreamResult) -> Action {
        guard !isOver else { return .none }
        state = .over
        return .end(result)
    }
}
