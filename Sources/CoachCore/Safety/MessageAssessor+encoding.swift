/// The assessment of a message by the encoders.
extension MessageAssessor {
    /// Why a message is to be encoded.
    public enum EncodingNeed: Sendable {
        /// The first assessment found a concern or more, or cannot rule danger out.
        case danger
        /// The first assessment takes the message for ordinary: the encoder may differ, and decides on the domain.
        case ordinary
    }

    /// Whether, and why, a message whose first assessment is `first` is to be encoded as well.
    public func encodingNeed(_ first: MessageAssessment) -> EncodingNeed? {
        guard classifier != nil, let encoder, first.domains.wordCount >= Self.fewestWords else { return nil }
        return encoder.isDangerOpen(after: first.risk, probability: first.risk.score ?? 0) ? .danger : .ordinary
    }

    /// `assess`, and `encode` where it is needed.
    public func assessFully(_ message: String) -> MessageAssessment {
        var passages = EncodedPassages()
        return assessFully(message, &passages)
    }

    /// The assessment by the encoders with the grammar and the terms. `first` is the result of `assess`. Takes about ten times as long as `assess` for a
    /// message of 25 words, and a multiple when the message is read in several passages or by the large encoder. `usesLargeEncoder` is called when the
    /// large encoder has to read the message, too.
    public func encode(
        _ message: String, _ first: MessageAssessment, usesLargeEncoder: () -> Bool = { true }
    ) -> MessageAssessment {
        var passages = EncodedPassages()
        return encode(message, first, &passages, usesLargeEncoder: usesLargeEncoder)
    }

    /// The scores of domains by `assessFully` of several assessors that differ only in their domains. Each encoder reads the message once for all of
    /// them, except the most dangerous sentences of a long message, which it reads once for each.
    static func domains(_ message: String, by assessors: [MessageAssessor]) -> [DomainScores] {
        var passages = EncodedPassages()
        return assessors.map { $0.assessFully(message, &passages).domains }
    }

    /// The passages of a message's forms that each encoder has read.
    private struct EncodedPassages {
        var small: [MessageEncoder.Passages]?
        var large: [MessageEncoder.Passages]?
    }

    private func assessFully(_ message: String, _ passages: inout EncodedPassages) -> MessageAssessment {
        let first = assess(message)
        return encodingNeed(first) == nil ? first : encode(message, first, &passages) { true }
    }

    private func encode(
        _ message: String, _ first: MessageAssessment, _ passages: inout EncodedPassages, usesLargeEncoder: () -> Bool
    ) -> MessageAssessment {
        guard encodingNeed(first) != nil else { return first }
        var found = search(message)
        // Only the grammar reads names of JSON members: an encoder would take them for words of a person.
        if let text = message.withoutJSONNames {
            found.forms = search(text).forms
            guard found.forms[0].tokens.count >= Self.fewestWords else { return first }
        }
        found.forms = found.forms.map(\.withoutFillers)
        let features = features(of: found)
        let readings = readings(found, features, &passages, usesLargeEncoder: usesLargeEncoder)
        guard let last = readings.last else { return first }
        // The last form decides, in which obfuscated words are restored, unless it has too few words.
        let deciding = found.forms.lastIndex { $0.tokens.count >= Self.fewestWords } ?? 0
        // Danger that one of the encoders finds stands: each knows plain statements that the other does not.
        let mayLower =
            readings.allSatisfy { $0.isCalm && $0.isComplete } && !detector.isFinal(found.risk) && deciding == found.forms.count - 1
        var risk = last.encoder.risk(last.probabilities[deciding], grammar: found.risk, mayLower: mayLower)
        // The highest score of all models, so that a message that only the last one takes for calm stays in the judge's grey zone.
        let scores = readings.map { $0.probabilities[deciding][MessageEncoder.crisis] }
        risk.score = ([risk.score, first.risk.score].compactMap(\.self) + scores).max()
        return MessageAssessment(risk: risk, domains: domains(readings, found, features[0]) ?? first.domains)
    }

    func readings(_ found: Found, _ features: [MessageFeatures], usesLargeEncoder: () -> Bool) -> [EncoderReading] {
        var passages = EncodedPassages()
        return readings(found, features, &passages, usesLargeEncoder: usesLargeEncoder)
    }

    /// The reading by the small encoder, and the one by the large encoder where the small one leaves danger or the domain open. A reading whose scores are
    /// not numbers is left out, and the one after it. Empty without encoders.
    private func readings(
        _ found: Found, _ features: [MessageFeatures], _ passages: inout EncodedPassages, usesLargeEncoder: () -> Bool
    ) -> [EncoderReading] {
        guard let classifier, let encoder else { return [] }
        func read(by encoder: MessageEncoder) -> [MessageEncoder.Passages] {
            zip(found.forms, features).map { encoder.passages($0, linearWindows: classifier.windows($1)) }
        }
        let linear = classifier.probabilities(features)
        let ofSmall = passages.small ?? read(by: encoder)
        passages.small = ofSmall
        guard let small = EncoderReading(ofSmall, by: encoder, previous: found.forms.map { _ in linear }) else { return [] }
        guard let largeEncoder, largeEncoder.isOpen(small, grammar: found.risk), usesLargeEncoder() else { return [small] }
        let ofLarge = passages.large ?? read(by: largeEncoder)
        passages.large = ofLarge
        guard var large = EncoderReading(ofLarge, by: largeEncoder, previous: small.probabilities) else { return [small] }
        large.add(
            sentences: zip(found.forms, large.peaks).map { form, peak in
                guard let peak else { return nil }
                let sentences = form.sentences(around: peak, reach: Self.sentenceReach)
                return [encoder, largeEncoder].reduce(linear) { previous, encoder in
                    encoder.probabilities(encoder.passages(form, [sentences], areComplete: false).parts, previous: previous)
                }
            })
        return [small, large]
    }

    /// The most words before and after a peak that count as its sentence, because some texts have no punctuation.
    private static let sentenceReach = 16

    /// The scores of domains by the last encoder that read the message at once, and the models before it; nil when none did.
    private func domains(_ readings: [EncoderReading], _ found: Found, _ features: MessageFeatures) -> DomainScores? {
        var previous = domainClassifier?.logits(features)
        var result: DomainScores?
        for reading in readings {
            guard let passage = reading.whole else { break }
            let sums = reading.encoder.domainSums(passage, previous: previous, terms: found.domains)
            result = reading.encoder.domains(sums, terms: found.domains)
            previous = sums
        }
        return result
    }
}
