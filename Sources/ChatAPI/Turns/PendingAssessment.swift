import CoachCore

/// The assessment of a message, which the encoder may still raise while the turn begins.
struct PendingAssessment: Sendable {
    /// The assessment that a turn begins with. It is the final one, except for an ordinary message that is not encoded yet, and for a fragment, which is
    /// assessed by itself. Its risk is never above that of the final one.
    let first: MessageAssessment
    private let known: MessageAssessment
    private let encoding: Task<MessageAssessment, Never>?

    init(_ first: MessageAssessment, final: MessageAssessment) { (self.first, known, encoding) = (first, final, nil) }

    init(_ first: MessageAssessment, _ encoding: Task<MessageAssessment, Never>? = nil) {
        (self.first, known, self.encoding) = (first, first, encoding)
    }

    /// That of the message by itself. Waits for the encoders: milliseconds, at most `EncoderQueue.longestWait` and the time of one message.
    var final: MessageAssessment {
        get async { await encoding?.value ?? known }
    }
}
