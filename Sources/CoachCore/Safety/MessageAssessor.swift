/// Assesses a user's message: the risk it shows and how well it fits each domain. Pure, in memory, safe to share between threads.
public struct MessageAssessor: Sendable {
    private let lexicon: Lexicon
    private let detector: CrisisDetector
    private let scorer: DomainScorer
    private let concepts: ConceptLexicon
    private let classifier: CrisisClassifier?
    private let domainClassifier: DomainClassifier?
    private let encoder: MessageEncoder?

    /// Without a classifier, or with an inactive one, the grammar alone detects danger; without `domainClassifier` the routing terms alone
    /// score domains; without an encoder nothing is encoded. Compiles the grammar and the routing terms into one lexicon. Takes tens of milliseconds: call it at start and on reload only.
    public init(
        grammar: CrisisGrammar, domains: DomainConfigurations, classifier: CrisisClassifier?, domainClassifier: DomainClassifier?,
        encoder: MessageEncoder? = nil
    ) {
        concepts = ConceptLexicon(grammar.concepts)
        self.domainClassifier = domainClassifier
        self.classifier = classifier.flatMap { $0.isActive ? $0 : nil }
        self.encoder = encoder
        var builder = LexiconBuilder()
        detector = CrisisDetector(grammar: grammar, lexicon: &builder)
        scorer = DomainScorer(domains: domains, lexicon: &builder)
        lexicon = builder.build()
    }

    /// Never fails. Of a message over `NormalisedMessage.scalarLimit` scalars only the first and the last half of that limit count.
    public func assess(_ message: String) -> MessageAssessment {
        let found = search(message)
        guard classifier != nil || domainClassifier != nil else { return MessageAssessment(risk: found.risk, domains: found.domains) }
        let features = features(of: found)
        return MessageAssessment(
            risk: classifier.flatMap { found.domains.wordCount < Self.fewestWords ? nil : found.risk.merged(with: $0.assess(features)) }
                ?? found.risk,
            domains: domainClassifier.map { $0.scores(features[0], terms: found.domains) } ?? found.domains)
    }

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
        return encoder.isOpen(first.risk) ? .danger : .ordinary
    }

    /// The assessment by the encoder with the grammar and the terms; `first` is that of `assess`. For a queue of its own: a message of 25 words
    /// takes about as long as ten times `assess`, one that is read in several passages a multiple.
    public func encode(_ message: String, _ first: MessageAssessment) -> MessageAssessment {
        guard let classifier, let encoder, encodingNeed(first) != nil else { return first }
        let found = search(message)
        let features = features(of: found)
        let passages = zip(found.forms, features).map { encoder.passages($0, linearWindows: classifier.windows($1)) }
        guard passages.joined().allSatisfy({ $0.scores.allSatisfy(\.isFinite) }) else { return first }
        // The letters of an obfuscated word are noise. A form of two words says nothing.
        let linear = classifier.probabilities(features)
        let deciding = found.forms.lastIndex { $0.tokens.count >= Self.fewestWords } ?? 0
        var risk = encoder.risk(
            passages[deciding], grammar: found.risk, linear: linear,
            mayLower: !detector.isFinal(found.risk) && deciding == passages.count - 1
                && passages.allSatisfy { encoder.isCalm($0, linear: linear) })
        // What the encoder takes for calm stays in the judge's grey zone.
        risk.score = [risk.score, first.risk.score].compactMap(\.self).max()
        return MessageAssessment(risk: risk, domains: domains(passages[0], found, features[0]) ?? first.domains)
    }

    /// The scores of domains that `assessFully` gives, by assessors that differ in their domains alone: the message is encoded once.
    static func domains(_ message: String, by assessors: [MessageAssessor]) -> [DomainScores] {
        var passages: [MessageEncoder.Passage]?
        return assessors.map { assessor in
            let first = assessor.assess(message)
            guard let encoder = assessor.encoder, assessor.encodingNeed(first) != nil else { return first.domains }
            let found = assessor.search(message)
            let read = passages ?? encoder.passages(found.forms[0], linearWindows: [])
            passages = read
            return assessor.domains(read, found, assessor.features(of: found)[0]) ?? first.domains
        }
    }

    /// nil when the message was not encoded whole.
    private func domains(_ passages: [MessageEncoder.Passage], _ found: Found, _ features: MessageFeatures) -> DomainScores? {
        encoder?.domains(passages, linear: domainClassifier?.logits(features), terms: found.domains)
    }

    /// `assess`, and `encode` where it is needed.
    public func assessFully(_ message: String) -> MessageAssessment {
        let first = assess(message)
        return encodingNeed(first) == nil ? first : encode(message, first)
    }

    /// The folded words of a message's plain form, as an encoder reads them.
    public func words(of message: String) -> [String] {
        let words = NormalisedMessage(message).plain
        return words.words(words.tokens.indices).map { String(decoding: $0, as: UTF8.self) }
    }

    /// What the grammar finds, and the features for the classifier, of each form of a message: plain and, where it differs, deobfuscated.
    /// Training uses the same analysis as the server.
    public func analyse(_ message: String) -> (risk: RiskAssessment, domains: DomainScores, features: [MessageFeatures]) {
        let found = search(message)
        return (found.risk, found.domains, features(of: found))
    }

    /// Of a message with fewer words the grammar alone judges: "tonight" is an answer, and by itself no sign of danger.
    private static let fewestWords = 3

    private typealias Found = (risk: RiskAssessment, domains: DomainScores, forms: [TokenSequence])

    /// At least one: that of the plain form.
    private func features(of found: Found) -> [MessageFeatures] {
        let findings = found.risk.patterns + found.domains.findings
        return found.forms.map { MessageFeatures($0, concepts: concepts, findings: findings) }
    }

    private func search(_ message: String) -> Found {
        let normalised = NormalisedMessage(message)
        let plain = lexicon.annotate(normalised.plain)
        var risk = detector.assess(plain)
        if let deobfuscated = normalised.deobfuscated {
            risk = risk.merged(with: detector.assess(lexicon.annotate(deobfuscated)))
        }
        return (risk, scorer.scores(plain), [normalised.plain] + (normalised.deobfuscated.map { [$0] } ?? []))
    }

    /// True when a coach's message asks about the user's safety; see `SafetyFusion.fuse`.
    public func asksAboutSafety(_ coachMessage: String) -> Bool {
        detector.asksAboutSafety(lexicon.annotate(NormalisedMessage(coachMessage).plain))
    }
}
