/// How a writer to a client ended, and with it the connection.
public enum StreamResult: String, Sendable {
    /// The client has the whole stream.
    case complete
    /// The client received the event after which it resumes.
    case handedOver
    /// The connection broke, or the client left.
    case gone
    /// The client took nothing for too long.
    case stalled
}
