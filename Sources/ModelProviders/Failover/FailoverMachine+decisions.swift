import CoachCore

extension FailoverMachine {
    /// What the driver does next.
    enum Action: Equatable {
        case none
        /// Give up the transfer that runs, if any, and ask this choice, counted from 0.
        case attempt(Int)
        /// Give up the transfer that runs, and wait for the deadline.
        case pause
        /// The body of an error response takes too long: call `failed` with what is known.
        case classifyErrorResponse
        /// No text came for a second: text that waits is to be released.
        case releaseHeld
        /// The finish reason is known and the end mark does not come: end the answer as if the connection had ended.
        case finishAnswer
        /// The call is over. Comes exactly once.
        case end(ModelEnd)
    }

    /// What is to be done with text.
    enum Release: Equatable {
        case all
        /// At most so many bytes, without a cut character at the end. Call `reachedBound` then.
        case atMost(Int)
        case nothing
    }
}
