import Foundation

/// A request as the simulator received it, and what became of it: the journal's entry for tests in the same process.
public struct RecordedRequest: Sendable, Equatable {
    /// Counts all requests from 1.
    public let sequence: Int
    /// When it was received in full.
    public let received: Date
    /// The model it asked for; nil when it named none.
    public let model: String?
    /// Role and text of each message; text parts of one message are joined with line feeds.
    public let messages: [Message]
    /// Whether a stream was asked for.
    public let isStreamed: Bool
    /// Header fields by lower-case name, without the key.
    public let headers: [String: String]
    /// The status that was answered; nil before an answer.
    public let status: Int?
    /// What became of it.
    public let outcome: Outcome
    /// Tokens handed to the socket so far.
    public let tokensSent: Int
    /// From its arrival to its end; nil while it runs.
    public let endedAfter: Duration?

    /// One message of a prompt.
    public struct Message: Sendable, Equatable {
        /// Such as `system`, `user`, `assistant`.
        public let role: String
        /// What it says.
        public let text: String
    }

    /// How a request ended, as the provider saw it.
    public enum Outcome: String, Sendable {
        /// It has not.
        case running
        /// Everything was sent.
        case finished
        /// The client hung up first.
        case clientClosed = "client_closed"
        /// Refused: no key, no such model, not valid.
        case rejected
        /// A script made it fail: an HTTP error, an error frame, a cut.
        case failed
        /// The simulator was stopped.
        case stopped
    }
}

extension SimulatorServer {
    /// The latest requests with a higher sequence number, oldest first.
    public func requests(after sequence: Int = 0) -> [RecordedRequest] { journal.exchanges(after: sequence).map(\.record) }
}
