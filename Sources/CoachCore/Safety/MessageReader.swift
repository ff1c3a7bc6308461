/// Reads a message once for both questions: is somebody in danger, and what is it about. Pure; safe to share.
public struct MessageReader: Sendable {
    private let lexicon: Lexicon
    private let detector: CrisisDetector
    private let scorer: DomainScorer

    /// Compiles the grammar and the routing terms into one lexicon. Tens of milliseconds: done at start and on reload.
    public init(grammar: CrisisGrammar, domains: DomainConfigurations) {
        var builder = LexiconBuilder()
        detector = CrisisDetector(grammar: grammar, lexicon: &builder)
        scorer = DomainScorer(domains: domains, lexicon: &builder)
        lexicon = builder.build()
    }

    /// Danger and topic of a message. Never fails; of a message over 4,000 scalars both ends are read.
    public func assess(_ message: String) -> MessageAssessment {
        let normalised = NormalisedMessage(message)
        let reading = lexicon.read(normalised.plain)
        var risk = detector.assess(reading)
        if let undisguised = normalised.undisguised {
            risk = MessageReader.merge(risk, detector.assess(lexicon.read(undisguised)))
        }
        return MessageAssessment(risk: risk, domains: scorer.scores(reading))
    }

    /// True when a coach's message asks about safety; see `SafetyFusion.fuse`.
    public func asksAboutSafety(_ coachMessage: String) -> Bool {
        detector.asksAboutSafety(lexicon.read(NormalisedMessage(coachMessage).plain))
    }

    /// The graver of two views, with what both found.
    private static func merge(_ plain: RiskAssessment, _ undisguised: RiskAssessment) -> RiskAssessment {
        let (graver, other) = undisguised.tier > plain.tier ? (undisguised, plain) : (plain, undisguised)
        var merged = graver
        merged.categories += other.categories.filter { !graver.categories.contains($0) }
        merged.patterns += other.patterns.filter { !graver.patterns.contains($0) }
        if graver.subject != .me, other.subject == .me { merged.subject = .me }
        return merged
    }
}
