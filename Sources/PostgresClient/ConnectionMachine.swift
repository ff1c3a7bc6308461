import Reactor

/// The state machine of one connection: connecting, open, closed. Pure: it decides, `Connection` acts.
///
/// Connecting is a round over addresses, each with its own time limit: libpq's own asynchronous connect ignores `connect_timeout` and would
/// wait for the first address of a list as long as the system does.
struct ConnectionMachine {
    private(set) var state = State.new
    /// Targets that are not yet tried.
    private var pending: [ConnectionTarget] = []
    /// The target of the current attempt, or of the open connection.
    private(set) var current: ConnectionTarget?
    /// The number of the current attempt, by which the result of a lookup that ends too late is recognized.
    private(set) var attempt = 0

    enum State: Equatable {
        case new
        /// A host name is being looked up on a helper thread.
        case resolving
        /// libpq negotiates: TCP, TLS, authentication.
        case handshaking
        case open
        case closed
    }

    /// What `PQconnectPoll` returned: the direction to wait for, or success.
    enum Polled {
        case reading
        case writing
        case done
    }

    /// What `PQflush` returned.
    enum Flushed {
        case done
        /// Bytes are left to be written.
        case pending
        case failed
    }

    /// Why a connection ended.
    enum End: Equatable {
        /// No address accepted the connection.
        case unreachable
        /// The server or the network ended it.
        case lost
        /// Statements are outstanding and nothing was received for longer than any statement may run.
        case silent
        /// An answer that the protocol does not allow, or a statement that is not allowed here, such as COPY.
        case violation
        /// By `Connection.close`.
        case requested
    }

    enum Action: Equatable {
        case none
        case resolveHost(ConnectionTarget)
        case startHandshake(ConnectionTarget)
        /// End the watch and make a new one: libpq may have opened another socket.
        case watchHandshake(Interest)
        case pollHandshake
        case becomeOpen
        case watch(Interest)
        case consumeInput
        case flushOutput
        case end(End)
    }

    var isConnecting: Bool { state == .resolving || state == .handshaking }

    /// How long the current attempt may take. The last one gets all the remaining time; others get an equal share of it, at most a second
    /// (the kernel sends a dropped SYN again after a second).
    func attemptLimit(remaining: Duration) -> Duration {
        pending.isEmpty ? remaining : min(.seconds(1), remaining / (pending.count + 1))
    }

    mutating func begin(_ targets: [ConnectionTarget]) -> Action {
        guard state == .new else { return .none }
        pending = targets
        return nextAttempt()
    }

    /// The addresses of the current target, at least one.
    mutating func resolved(_ addresses: [String]) -> Action {
        guard state == .resolving, let target = current else { return .none }
        pending =
            addresses.map { address in
                var resolved = target
                resolved.entry.address = address
                return resolved
            } + pending
        return nextAttempt()
    }

    /// As if PQconnectPoll had returned PGRES_POLLING_WRITING (PostgreSQL manual, 34.1).
    mutating func handshakeStarted() -> Action { state == .handshaking ? .watchHandshake(.write) : .none }

    mutating func polled(_ polled: Polled) -> Action {
        guard state == .handshaking else { return .none }
        switch polled {
        case .reading: return .watchHandshake(.read)
        case .writing: return .watchHandshake(.write)
        case .done:
            state = .open
            return .becomeOpen
        }
    }

    /// The current attempt failed. `isFinal`: the other addresses are not tried, as in libpq when a server rejects the login.
    mutating func attemptFailed(isFinal: Bool) -> Action {
        guard isConnecting else { return .none }
        return isFinal ? end(.unreachable) : nextAttempt()
    }

    mutating func ready(_ readiness: Readiness) -> Action {
        switch state {
        case .handshaking: .pollHandshake
        case .open: readiness.contains(.readable) ? .consumeInput : .flushOutput
        case .new, .resolving, .closed: .none
        }
    }

    /// Input was read, or the connection was lost. Flushes after reading: the server may now accept more bytes, and if neither side read
    /// while its own buffers are full, both would wait for ever.
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

    mutating func end(_ end: End) -> Action {
        guard state != .closed else { return .none }
        state = .closed
        return .end(end)
    }

    private mutating func nextAttempt() -> Action {
        guard !pending.isEmpty else { return end(.unreachable) }
        let target = pending.removeFirst()
        current = target
        attempt += 1
        state = target.entry.needsLookup ? .resolving : .handshaking
        return target.entry.needsLookup ? .resolveHost(target) : .startHandshake(target)
    }
}
