/// Assesses a user's message: the risk it shows and how well it fits each domain. Pure, in memory, safe to share between threads.
public struct MessageAssessor: Sendable {
    private let lexicon: Lexicon
    let detector: CrisisDetector
    private let scorer: DomainScorer
    private let concepts: ConceptLexicon
    let classifier: CrisisClassifier?
    let domainClassifier: DomainClassifier?
    let encoder: MessageEncoder?
    let largeEncoder: MessageEncoder?

    /// Without a classifier, or with an inactive one, the grammar alone detects danger; without `domainClassifier` the routing terms alone
    /// score domains; without an encoder nothing is encoded, and `largeEncoder` has no use. Compiles the grammar and the routing terms into one
    /// lexicon. Takes tens of milliseconds: call it at start and on reload only.
    public init(
        grammar: CrisisGrammar, domains: DomainConfigurations, classifier: CrisisClassifier?, domainClassifier: DomainClassifier?,
        encoder: MessageEncoder? = nil, largeEncoder: MessageEncoder? = nil
    ) {
        concepts = ConceptLexicon(grammar.concepts)
        self.domainClassifier = domainClassifier
        self.classifier = classifier.flatMap { $0.isActive ? $0 : nil }
        (self.encoder, self.largeEncoder) = (encoder, largeEncoder)
        var builder = LexiconBuilder()
        detector = CrisisDetector(grammar: grammar, lexicon: &builder)
        scorer = DomainScorer(domains: domains, lexicon: &builder)
        lexicon = builder.build()
    }

    /// The first assessment, without the encoders. Of a message over `NormalisedMessage.scalarLimit` scalars only the first and the last half of that
    /// limit count.
    public func assess(_ message: String) -> MessageAssessment {
        let found = search(message)
        guard classifier != nil || domainClassifier != nil else { return MessageAssessment(risk: found.risk, domains: found.domains) }
        let features = features(of: found)
        return MessageAssessment(
            risk: classifier.flatMap { found.domains.wordCount < Self.fewestWords ? nil : found.risk.merged(with: $0.assess(features)) }
                ?? found.risk,
            domains: domainClassifier.map { $0.scores(features[0], terms: found.domains) } ?? found.domains)
    }

    /// The risk of the part of a message that `assess` leaves out, of 28,000 characters at most. nil when it leaves out nothing. Only rejected requests
    /// have such messages.
    public func omittedRisk(of message: String) -> RiskAssessment? {
        let risks = NormalisedMessage.omittedParts(of: message).map { assess($0).risk }
        return risks.dropFirst().reduce(risks.first) { $0?.merged(with: $1) }
    }

    /// The folded words of a message's plain form, as an encoder reads them.
    public func words(of message: String) -> [String] {
        let words = NormalisedMessage(message).plain
        return words.words(words.tokens.indices).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The grammar's risk, the terms' scores, and the features of each form of a message: plain and, where it differs, deobfuscated. Training uses the
    /// same analysis as the server.
    public func analyse(_ message: String) -> (risk: RiskAssessment, domains: DomainScores, features: [MessageFeatures]) {
        let found = search(message)
        return (found.risk, found.domains, features(of: found))
    }

    /// A message with fewer words is assessed by the grammar alone: "tonight" is an answer, and by itself no sign of danger.
    static let fewestWords = 3

    typealias Found = (risk: RiskAssessment, domains: DomainScores, forms: [TokenSequence])

    /// The features of each form. The plain form is first.
    func features(of found: Found) -> [MessageFeatures] {
        let findings = found.risk.patterns + found.domains.findings
        return found.forms.map { MessageFeatures($0, concepts: concepts, findings: findings) }
    }

    /// The grammar's risk, the terms' scores, and the forms of a message: plain and, where it differs, deobfuscated.
    func search(_ message: String) -> Found {
        let normalised = NormalisedMessage(message)
        let plain = lexicon.annotate(normalised.plain)
        var risk = detector.assess(plain)
        if let deobfuscated = normalised.deobfuscated {
            risk = risk.merged(with: detector.assess(lexicon.annotate(deobfuscated)))
        }
        return (risk, scorer.scores(plain), [normalised.plain] + (normalised.deobfuscated.map { [$0] } ?? []))
    }

    func annotate(_ text: String) -> AnnotatedTokens { lexicon.annotate(NormalisedMessage(text).plain) }
}
