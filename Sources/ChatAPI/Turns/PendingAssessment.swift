import CoachCore

/// The assessment of a message, which the encoder may still raise while the turn begins.
struct PendingAssessment: Sendable {
    /// The assessment with which a turn begins. Its risk is never above the final one's. It is one of:
    /// - the final assessment
    /// - the one of an ordinary message before it is encoded
    /// - the grammar's of a fragment
    let first: MessageAssessment
    private let known: MessageAssessment
    private let encoding: Task<MessageAssessment, Never>?

    init(_ first: MessageAssessment, final: MessageAssessment) { (self.first, known, encoding) = (first, final, nil) }

    init(_ first: MessageAssessment, _ encoding: Task<MessageAssessment, Never>? = nil) {
        (self.first, known, self.encoding) = (first, first, encoding)
    }

    /// The assessment of the message by itself. Waits for the encoders: milliseconds, at most `EncoderQueue.longestWait` and the time of one message.
    var final: MessageAssessment {
        get async { await encoding?.value ?? known }
    }
}
