/// What one encoder finds in a message, in each of its forms: plain and, where it differs, deobfuscated.
struct EncoderReading: Sendable {
    let encoder: MessageEncoder
    /// Of each form.
    private let passages: [[MessageEncoder.Passage]]
    /// Of each form the probabilities of the outputs for danger, in the order of `CrisisClassifier.outputNames`.
    let probabilities: [[Float]]

    /// nil when a score is not a number. `previous`: of each form the probabilities by the previous model.
    init?(_ passages: [[MessageEncoder.Passage]], by encoder: MessageEncoder, previous: [[Float]]) {
        guard passages.joined().allSatisfy({ $0.scores.allSatisfy(\.isFinite) }) else { return nil }
        (self.encoder, self.passages) = (encoder, passages)
        probabilities = zip(passages, previous).map { encoder.probabilities($0, previous: $1) }
    }

    /// All of the message was read at once.
    var isWhole: Bool { passages.joined().allSatisfy(\.isWhole) }

    /// No form resembles a crisis so much that a hit of the grammar has to stand.
    var isCalm: Bool { probabilities.allSatisfy(encoder.isCalm) }

    /// The highest of all forms.
    var crisisProbability: Float { probabilities.map { $0[MessageEncoder.crisis] }.max() ?? 0 }

    /// Of the plain form, which decides on the domain; nil when it was not read at once.
    var whole: MessageEncoder.Passage? { passages.first?.first.flatMap { $0.isWhole ? $0 : nil } }
}
