import CoachCore

/// The assessment of a message, which the encoder may still raise while the turn begins.
struct PendingAssessment: Sendable {
    /// What a turn begins with: the final assessment, or that of an ordinary message before it is encoded, or of a fragment by itself, whose risk is
    /// never above the final one's.
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
