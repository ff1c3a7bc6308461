/// How the stream to a client ended. Its connection is then closed.
public enum StreamResult: String, Sendable {
    /// All events were written, the terminal events included.
    case complete
    /// The stream was handed over: the event that tells the client to resume was the last.
    case handedOver
    /// The connection broke or the client closed it; also a handover of a client that was not reading.
    case gone
    /// The client read nothing for `StreamLimits.stall`.
    case stalled
}
