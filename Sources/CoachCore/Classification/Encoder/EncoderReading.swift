/// The result of one encoder for a message, in each of its forms: plain and, where it differs, deobfuscated.
struct EncoderReading: Sendable {
    let encoder: MessageEncoder
    /// The passages of each form.
    private let forms: [MessageEncoder.Passages]
    /// For each form the probabilities of the outputs for danger, in the order of `CrisisClassifier.outputNames`.
    private(set) var probabilities: [[Float]]
    /// The probabilities before `add(sentences:)`.
    private let ofForms: [[Float]]

    /// nil when a score is not a number. `previous` are the probabilities of each form by the previous model.
    init?(_ forms: [MessageEncoder.Passages], by encoder: MessageEncoder, previous: [[Float]]) {
        guard forms.lazy.flatMap(\.parts).allSatisfy({ $0.scores.allSatisfy(\.isFinite) }) else { return nil }
        (self.encoder, self.forms) = (encoder, forms)
        ofForms = zip(forms, previous).map { encoder.probabilities($0.parts, previous: $1) }
        probabilities = ofForms
    }

    /// Whether all of the message was read.
    var isComplete: Bool { forms.allSatisfy(\.areComplete) }

    /// Whether the probability of a crisis of every form is so low that a hit of the grammar may be lowered.
    var isCalm: Bool { (probabilities + ofForms).allSatisfy(encoder.isCalm) }

    /// The highest probability of all forms.
    var crisisProbability: Float { probabilities.map { $0[MessageEncoder.crisis] }.max() ?? 0 }

    /// The passage of the plain form, which decides on the domain; nil when it was not read at once.
    var whole: MessageEncoder.Passage? { forms.first?.whole }

    /// The words that most resemble a crisis, for each form that was read in several passages and to its end; nil for other forms.
    var peaks: [Range<Int>?] {
        forms.map { form in
            guard form.areComplete, form.parts.count > 1 else { return nil }
            return form.parts.max { $0.scores[MessageEncoder.crisis] < $1.scores[MessageEncoder.crisis] }?.peak
        }
    }

    /// Includes the probabilities of the sentences around each form's peak, which were read by themselves; nil for a form without a peak.
    mutating func add(sentences: [[Float]?]) {
        for (form, sentence) in sentences.enumerated() {
            guard let probability = sentence?[MessageEncoder.crisis], probability.isFinite else { continue }
            probabilities[form][MessageEncoder.crisis] = .between(
                probabilities[form][MessageEncoder.crisis], probability, share: Self.sentenceShare)
        }
    }

    /// The share of the sentences in the probability. Chosen by left-out rows: among 500 characters of others 0.806 of the cards are kept at 0.052 of hard
    /// negatives (0.750 at 0.043 without; 0.824 at 0.065 with a half). Of messages that are not read to their end there were too few.
    private static let sentenceShare: Float = 1 / 3
}
