/// Assesses a user's message: the risk it shows and how well it fits each domain. Pure, in memory, safe to share between threads.
public struct MessageAssessor: Sendable {
    private let lexicon: Lexicon
    private let detector: CrisisDetector
    private let scorer: DomainScorer

    /// Compiles the grammar and the routing terms into one lexicon. Takes tens of milliseconds: call it at start and on reload only.
    public init(grammar: CrisisGrammar, domains: DomainConfigurations) {
        var builder = LexiconBuilder()
        detector = CrisisDetector(grammar: grammar, lexicon: &builder)
        scorer = DomainScorer(domains: domains, lexicon: &builder)
        lexicon = builder.build()
    }

    /// Never fails. Of a message over `NormalisedMessage.scalarLimit` scalars only the first and the last half of that limit count.
    public func assess(_ message: String) -> MessageAssessment {
        let normalised = NormalisedMessage(message)
        let plain = lexicon.annotate(normalised.plain)
        var risk = detector.assess(plain)
        if let deobfuscated = normalised.deobfuscated {
            risk = MessageAssessor.merge(risk, detector.assess(lexicon.annotate(deobfuscated)))
        }
        return MessageAssessment(risk: risk, domains: scorer.scores(plain))
    }

    /// True when a coach's message asks about the user's safety; see `SafetyFusion.fuse`.
    public func asksAboutSafety(_ coachMessage: String) -> Bool {
        detector.asksAboutSafety(lexicon.annotate(NormalisedMessage(coachMessage).plain))
    }

    /// The assessment with the higher tier, with the categories and patterns of both.
    private static func merge(_ plain: RiskAssessment, _ deobfuscated: RiskAssessment) -> RiskAssessment {
        let (higher, lower) = deobfuscated.tier > plain.tier ? (deobfuscated, plain) : (plain, deobfuscated)
        var merged = higher
        merged.categories += lower.categories.filter { !higher.categories.contains($0) }
        merged.patterns += lower.patterns.filter { !higher.patterns.contains($0) }
        if higher.subject != .user, lower.subject == .user { merged.subject = .user }
        return merged
    }
}
