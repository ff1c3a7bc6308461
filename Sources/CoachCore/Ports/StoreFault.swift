/// An error of the database, thrown by the ports to it.
public enum StoreFault: Error, Sendable, Equatable {
    /// The database refuses connections, does not answer, or the connection broke: `EXT_4003`. `retryAfter` in seconds. The reason is for the
    /// log and has no user data.
    case unavailable(retryAfter: Int, reason: String = "no reason is known")
    /// A programming or schema error. The text is for the log and has no user data.
    case unexpected(String)
}

extension StoreFault: CustomStringConvertible {
    /// For the log.
    public var description: String {
        switch self {
        case .unavailable(_, let reason): "the database is unavailable: \(reason)"
        case .unexpected(let reason): "unexpected: \(reason)"
        }
    }
}
