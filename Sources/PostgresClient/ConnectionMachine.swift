import Reactor

/// The life of one connection. Pure: it decides, `Connection` acts.
struct ConnectionMachine {
    private(set) var state = State.new

    enum State: Equatable {
        case new
        /// Host names are being looked up on a helper thread.
        case resolving
        /// libpq negotiates: TCP, TLS, authentication.
        case handshaking
        case open
        case closed
    }

    enum Polled {
        case reading
        case writing
        case done
        case failed
    }

    enum Flushed {
        case done
        case pending
        case failed
    }

    /// Why a connection ended.
    enum End: Equatable {
        case hostUnknown
        case refused
        case connectTimeout
        /// The other side or the network ended it.
        case lost
        /// Statements are out and nothing has come back for longer than any statement may run.
        case silent
        case violation
        case requested
    }

    enum Action: Equatable {
        case none
        case resolveHost
        case startHandshake
        /// libpq may have exchanged the socket: forget the old watch, begin a new one.
        case watchHandshake(Interest)
        case pollHandshake
        case becomeOpen
        case watch(Interest)
        case consumeInput
        case flushOutput
        case end(End)
    }

    mutating func begin() -> Action {
        guard state == .new else { return .none }
        state = .resolving
        return .resolveHost
    }

    mutating func resolved(_ found: Bool) -> Action {
        // A connection that timed out meanwhile is closed already.
        guard state == .resolving else { return .none }
        guard found else { return end(.hostUnknown) }
        state = .handshaking
        return .startHandshake
    }

    mutating func handshakeStarted(_ started: Bool) -> Action {
        guard state == .handshaking else { return .none }
        // As if PQconnectPoll had said "writing" (PostgreSQL manual, 34.1).
        return started ? .watchHandshake(.write) : end(.refused)
    }

    mutating func polled(_ polled: Polled) -> Action {
        guard state == .handshaking else { return .none }
        switch polled {
        case .reading: return .watchHandshake(.read)
        case .writing: return .watchHandshake(.write)
        case .failed: return end(.refused)
        case .done:
            state = .open
            return .becomeOpen
        }
    }

    mutating func ready(_ readiness: Readiness) -> Action {
        switch state {
        case .handshaking: .pollHandshake
        case .open: readiness.contains(.readable) ? .consumeInput : .flushOutput
        case .new, .resolving, .closed: .none
        }
    }

    /// Reading may have made room for writing, in libpq and at the server: both sides with full buffers would wait for each other.
    mutating func consumed(_ succeeded: Bool) -> Action {
        guard state == .open else { return .none }
        return succeeded ? .flushOutput : end(.lost)
    }

    mutating func flushed(_ flushed: Flushed) -> Action {
        guard state == .open else { return .none }
        switch flushed {
        case .done: return .watch(.read)
        case .pending: return .watch([.read, .write])
        case .failed: return end(.lost)
        }
    }

    mutating func connectTimedOut() -> Action {
        guard state == .resolving || state == .handshaking else { return .none }
        return end(.connectTimeout)
    }

    mutating func end(_ end: End) -> Action {
        guard state != .closed else { return .none }
        state = .closed
        return .end(end)
    }
}
