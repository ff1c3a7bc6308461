/// An error of the database, thrown by the ports to it.
public enum StoreFault: Error, Sendable, Equatable {
    /// The database refuses connections, does not answer, or the connection broke: `EXT_4003`. `retryAfter` in seconds.
    case unavailable(retryAfter: Int)
    /// A programming or schema error. The text is for the log and has no user data.
    case unexpected(String)
}
