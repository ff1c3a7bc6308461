import PostgresClient

/// A failure of the database in terms of the configuration. Names hosts, roles and databases, never a password.
enum DatabaseFinding {
    static func text(_ error: PostgresError) -> String {
        guard let failure = error.connectionFailure else {
            return error.kind == .deadline ? "the database does not answer in time" : "\(error)"
        }
        let meaning =
            switch failure {
            case .connectionString: "it is no connection string"
            case .unknownHost: "the host is unknown"
            case .refused: "nothing listens on this host and port"
            case .noAnswer: "the host does not answer"
            case .credentials: "the role or its password is refused"
            case .unknownDatabase: "there is no such database"
            case .certificate: "TLS or a certificate is refused"
            case .busy: "the server accepts no connections at present"
            case .wrongSession: "no server takes writes, or meets target_session_attrs"
            case .other: "no connection"
            }
        return "\(meaning): \(error.message)"
    }
}
