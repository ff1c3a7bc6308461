import Foundation

/// A request that the simulator received, with its outcome: a journal entry for tests in the same process.
public struct RecordedRequest: Sendable, Equatable {
    /// The number of the request, counted from 1.
    public let sequence: Int
    /// The time at which the request was completely received.
    public let received: Date
    /// The requested model; nil when the request has none.
    public let model: String?
    /// The messages. Text parts of one message are joined with line feeds.
    public let messages: [Message]
    /// Whether the request asked for a stream.
    public let isStreamed: Bool
    /// The header fields by name in lower case, without those that carry secrets.
    public let headers: [String: String]
    /// The status of the response; nil before it is sent.
    public let status: Int?
    /// How the request ended.
    public let outcome: Outcome
    /// Tokens written to the socket so far.
    public let tokensSent: Int
    /// The time from the request to the end of the response; nil while it is in progress.
    public let endedAfter: Duration?

    /// One message of a prompt.
    public struct Message: Sendable, Equatable {
        /// For example `system`, `user`, `assistant`.
        public let role: String
        /// The text.
        public let text: String
    }

    /// How a request ended.
    public enum Outcome: String, Sendable {
        /// It is in progress.
        case running
        /// The response was sent completely.
        case finished
        /// The client closed the connection before the end.
        case clientClosed = "client_closed"
        /// Rejected because of the key, the model, or an invalid body.
        case rejected
        /// Failed by its script: an HTTP error, an error in the stream, or a cut.
        case failed
        /// The simulator was stopped.
        case stopped
    }
}

extension SimulatorServer {
    /// The recorded requests with a higher sequence number, oldest first.
    public func requests(after sequence: Int = 0) -> [RecordedRequest] { journal.exchanges(after: sequence).map(\.record) }
}
