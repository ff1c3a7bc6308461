import CLibPQ

/// Makes PostgreSQL's stored form of a password (RFC 5803). `ALTER ROLE … PASSWORD` accepts it, so that the password itself appears in no
/// statement, log or statistics of the server.
public enum ScramVerifier {
    /// `SCRAM-SHA-256$4096:…`, with a random salt. Letters, digits and `$:+/=` only. Throws `PostgresError` when libpq refuses the
    /// password.
    public static func make(password: String, user: String) throws -> String {
        // libpq requires a connection object, but does not use it when the algorithm is given. An invalid string makes one that is never
        // opened.
        // SAFETY: connection and verifier are owned here and freed on every path.
        guard let connection = PQconnectStart("not a connection string") else { throw PostgresError(.unavailable, "out of memory") }
        defer { PQfinish(connection) }
        guard let verifier = PQencryptPasswordConn(connection, password, user, "scram-sha-256") else {
            throw PostgresError(.protocolViolation, "libpq cannot make a verifier of the password")
        }
        defer { PQfreemem(verifier) }
        return String(cString: verifier)
    }
}
