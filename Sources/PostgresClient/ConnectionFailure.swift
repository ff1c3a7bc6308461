/// Why a connection failed, as far as it matters to an operator.
public enum ConnectionFailure: Sendable, Hashable {
    /// The connection string is malformed.
    case connectionString
    /// A host name has no address.
    case unknownHost
    /// Nothing listens there.
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
    /// None of `target_session_attrs`' kind, for instance a standby where a primary is required.
    case wrongSession
    case other
}

extension PostgresError {
    /// From the message of a failed handshake, made with `PQERRORS_VERBOSE`: only there a SQLSTATE stands, which, other than the words, does not
    /// depend on the language of the server. Passwords are in none of libpq's messages.
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

    /// libpq's own words, which are English: the process never sets a locale.
    private static func failure(words: String) -> ConnectionFailure {
        // In this order: "certificate file … No such file or directory" is no refused socket.
        let meanings: [(String, ConnectionFailure)] = [
            ("certificate", .certificate), ("SSL", .certificate), ("Connection refused", .refused), ("No such file or directory", .refused),
            ("timed out", .noAnswer), ("No route to host", .noAnswer), ("Network is unreachable", .noAnswer),
            ("no password supplied", .credentials), ("session is", .wrongSession), ("server is", .wrongSession),
        ]
        return meanings.first { words.contains($0.0) }?.1 ?? .other
    }

    /// What a round over several addresses failed with. One that was refused with a SQLSTATE reached a server and is the most informative.
    init(round failures: [PostgresError]) {
        let most = failures.last { $0.sqlState != nil } ?? failures.last
        var messages: [String] = []
        for failure in failures where !messages.contains(failure.message) { messages.append(failure.message) }
        self.init(
            .unavailable, messages.isEmpty ? "not connected" : messages.joined(separator: "; "), sqlState: most?.sqlState,
            connectionFailure: most?.connectionFailure ?? .other)
    }
}
