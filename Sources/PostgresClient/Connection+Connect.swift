import CLibPQ
import Reactor

/// Connecting: a round of attempts over the addresses of all hosts, each attempt one libpq handshake with a time limit.
extension Connection {
    func resolveHost(_ target: ConnectionTarget) {
        limitAttempt()
        let (attempt, host, connection) = (machine.attempt, target.entry.host, ReactorBound(self, to: reactor))
        let isRunning = HelperThread.run {
            let found = NameLookup.addresses(of: host).found
            connection.submit { $0.resolved(found, attempt: attempt) }
        }
        if !isRunning { resolved([], attempt: attempt) }
    }

    private func resolved(_ addresses: [String], attempt: Int) {
        // The attempt may be over: its time was up, or the connection was closed.
        guard machine.state == .resolving, machine.attempt == attempt, let target = machine.current else { return }
        guard !addresses.isEmpty else {
            return giveUp(PostgresError(.unavailable, "the host has no address: \(target.entry.host)", connectionFailure: .unknownHost))
        }
        perform(machine.resolved(hosts.rotation.order(addresses, of: target.entry)))
    }

    func startHandshake(_ target: ConnectionTarget) {
        limitAttempt()
        handle = parameters?.startConnection(target)
        // `PostgresError(handshake:)` needs the SQLSTATE in the message.
        PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        passNoticesOn()
        guard PQstatus(handle) != CONNECTION_BAD else { return giveUpHandshake() }
        perform(machine.handshakeStarted())
    }

    func pollHandshake() {
        switch PQconnectPoll(handle) {
        case PGRES_POLLING_READING: perform(machine.polled(.reading))
        case PGRES_POLLING_WRITING: perform(machine.polled(.writing))
        case PGRES_POLLING_OK: perform(machine.polled(.done))
        default: giveUpHandshake()
        }
    }

    private func giveUpHandshake() {
        giveUp(PostgresError(handshake: handle.map { String(cString: PQerrorMessage($0)) } ?? "out of memory"))
    }

    private func giveUp(_ failure: PostgresError) {
        attemptTimer?.cancel()
        attemptFailures.append(failure)
        dropHandle()
        // An error with a SQLSTATE comes from a server that rejected the login, and ends the round, as in libpq; but not that of a server
        // that is starting or stopping (57P03).
        perform(machine.attemptFailed(isFinal: failure.sqlState.map { $0 != "57P03" } ?? false))
    }

    private func limitAttempt() {
        attemptTimer?.cancel()
        let limit = machine.attemptLimit(remaining: ContinuousClock.now.duration(to: connectDeadline))
        let attempt = machine.attempt
        attemptTimer = reactor.schedule(after: limit) { [weak self] in
            guard let self, machine.isConnecting, machine.attempt == attempt else { return }
            let host = machine.current?.entry.label ?? "the server"
            giveUp(PostgresError(.unavailable, "no connection to \(host) within \(limit)", connectionFailure: .noAnswer))
        }
    }
}
