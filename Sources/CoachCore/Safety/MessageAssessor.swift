/// Assesses a user's message: the risk it shows and how well it fits each domain. Pure, in memory, safe to share between threads.
public struct MessageAssessor: Sendable {
    private let lexicon: Lexicon
    private let detector: CrisisDetector
    private let scorer: DomainScorer
    private let classifier: CrisisClassifier?

    /// Without a classifier, or with an inactive one, the grammar alone detects danger. Compiles the grammar and the routing terms into one
    /// lexicon. Takes tens of milliseconds: call it at start and on reload only.
    public init(grammar: CrisisGrammar, domains: DomainConfigurations, classifier: CrisisClassifier?) {
        self.classifier = classifier.flatMap { $0.isActive ? $0 : nil }
        var builder = LexiconBuilder()
        detector = CrisisDetector(grammar: grammar, lexicon: &builder)
        scorer = DomainScorer(domains: domains, lexicon: &builder)
        lexicon = builder.build()
    }

    /// Never fails. Of a message over `NormalisedMessage.scalarLimit` scalars only the first and the last half of that limit count.
    public func assess(_ message: String) -> MessageAssessment {
        let found = search(message)
        guard let classifier else { return MessageAssessment(risk: found.risk, domains: found.domains) }
        let risk = classifier.assess(features(of: found.forms, found.risk))
        return MessageAssessment(risk: found.risk.merged(with: risk), domains: found.domains)
    }

    /// What the grammar finds, and the features for the classifier, of each form of a message: plain and, where it differs, deobfuscated.
    /// Training uses the same analysis as the server.
    public func analyse(_ message: String) -> (risk: RiskAssessment, domains: DomainScores, features: [MessageFeatures]) {
        let found = search(message)
        return (found.risk, found.domains, features(of: found.forms, found.risk))
    }

    private func features(of forms: [TokenSequence], _ risk: RiskAssessment) -> [MessageFeatures] {
        forms.map { MessageFeatures($0, patterns: risk.patterns) }
    }

    private func search(_ message: String) -> (risk: RiskAssessment, domains: DomainScores, forms: [TokenSequence]) {
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
