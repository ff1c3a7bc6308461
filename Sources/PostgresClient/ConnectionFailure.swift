/// Why a connection could not be opened, in the kinds that an operator handles differently.
public enum ConnectionFailure: Sendable, Hashable {
    /// The connection string is malformed.
    case connectionString
    /// A host name has no address.
    case unknownHost
    /// No server listens at the address.
    case refused
    /// The host, or the server on it, does not answer in time.
    case noAnswer
    /// The server rejects the role or the password.
    case credentials
    /// The server has no such database.
    case unknownDatabase
    /// TLS: the server's certificate is not trusted or for another name, a certificate file is missing, or one side insists on TLS.
    case certificate
    /// The server accepts no connections at present: it starts, stops, or has too many.
    case busy
    /// No server is of the kind that `target_session_attrs` requires, or of several none takes writes, as while all are standbys.
    case wrongSession
    case other
}

extension PostgresError {
    /// From the message of a failed handshake, which must have been made with `PQERRORS_VERBOSE`: it then has the SQLSTATE, which does not
    /// depend on the server's language as the text does. libpq's messages contain no passwords.
    init(handshake report: String) {
        let line = report.split(separator: "\n").first.map(String.init) ?? "refused"
        if let match = line.firstMatch(of: #/: {2}([0-9A-Z]{5}): /#) {
            let sqlState = String(match.1)
            self.init(
                .unavailable, line.replacing(match.0, with: ": "), sqlState: sqlState,
                connectionFailure: Self.failure(sqlState: sqlState))
        } else {
            self.init(.unavailable, line, connectionFailure: Self.failure(words: line))
        }
    }

    private static func failure(sqlState: String) -> ConnectionFailure {
        switch sqlState.prefix(2) {
        // pg_hba.conf refuses with 28000, also when it requires TLS.
        case "28": .credentials
        case "3D": .unknownDatabase
        case "53", "57": .busy
        default: .other
        }
    }

    /// From libpq's own message. It is in English, because the process never sets a locale.
    private static func failure(words: String) -> ConnectionFailure {
        // The order matters: "certificate file … No such file or directory" is not a missing socket.
        let meanings: [(String, ConnectionFailure)] = [
            ("certificate", .certificate), ("SSL", .certificate), ("Connection refused", .refused), ("No such file or directory", .refused),
            ("timed out", .noAnswer), ("No route to host", .noAnswer), ("Network is unreachable", .noAnswer),
            ("no password supplied", .credentials), ("session is", .wrongSession), ("server is", .wrongSession),
        ]
        return meanings.first { words.contains($0.0) }?.1 ?? .other
    }

    /// The error of a round over several addresses. Its code is that of the last attempt that reached a server (it has a SQLSTATE), or of
    /// the last attempt.
    init(round failures: [PostgresError]) {
        let most = failures.last { $0.sqlState != nil } ?? failures.last
        var messages: [String] = []
        for failure in failures where !messages.contains(failure.message) { messages.append(failure.message) }
        self.init(
            .unavailable, messages.isEmpty ? "not connected" : messages.joined(separator: "; "), sqlState: most?.sqlState,
            connectionFailure: most?.connectionFailure ?? .other)
    }
}
