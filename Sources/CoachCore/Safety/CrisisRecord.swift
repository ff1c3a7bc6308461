/// The audit of a turn in which danger was found or sentences were replaced: a row of `gateway.crisis_events` for each event. No text.
public struct CrisisRecord: Sendable, Equatable {
    /// The part that found the danger. Raw values are those of the database.
    public enum Stage: String, Sendable, CaseIterable {
        case grammar
        case model
        /// A follow-up of earlier danger, or the stored level alone.
        case state
        case judge
        case outputGuard = "output_guard"
    }

    /// The reaction to the danger. Raw values are those of the database.
    public enum Action: String, Sendable, CaseIterable {
        case card
        /// The card, and the fixed opening before the model's text.
        case opening
        /// The card, and the fixed text as the answer.
        case fixedText = "fixed_text"
        /// The card for the stored level alone.
        case reminder
        /// Sentences of the answer were replaced.
        case replaced
    }

    public struct Event: Sendable, Equatable {
        public var stage: Stage
        public var tier: RiskTier
        /// The first category of the risk.
        public var category: RiskCategory?
        /// Ids of patterns, or the kinds of the replaced sentences.
        public var patterns: [String]
        /// Tenth of the model's probability, 0 to 9.
        public var scoreBucket: Int?
        public var action: Action

        public init(stage: Stage, tier: RiskTier, category: RiskCategory?, patterns: [String], scoreBucket: Int?, action: Action) {
            self.stage = stage
            self.tier = tier
            self.category = category
            self.patterns = patterns
            self.scoreBucket = scoreBucket
            self.action = action
        }
    }

    /// The versions of the data by which the danger was found and answered.
    public struct Versions: Sendable, Equatable {
        /// Checksum of the model's file; nil without a model.
        public var model: String?
        public var grammar: Int
        public var outputGuard: Int
        public var resources: Int

        public init(model: String?, grammar: Int, outputGuard: Int, resources: Int) {
            self.model = model
            self.grammar = grammar
            self.outputGuard = outputGuard
            self.resources = resources
        }
    }

    public var events: [Event]
    /// ISO 3166-1 alpha-2; nil when it is not known.
    public var jurisdiction: String?
    /// nil when the instance that decided died.
    public var versions: Versions?

    public init(events: [Event], jurisdiction: String?, versions: Versions?) {
        self.events = events
        self.jurisdiction = jurisdiction
        self.versions = versions
    }
}

extension CrisisRecord {
    /// The record of a turn; nil when there is nothing to record. `hasFixedText`: the fixed text was the answer. `replaced`: the kinds of the
    /// replaced sentences.
    public init?(
        risk: RiskAssessment, region: Region, hasFixedText: Bool, replaced: [OutputRules.Kind] = [], versions: Versions?
    ) {
        var events: [Event] = []
        if risk.hasCard {
            let action: Action =
                risk.isReminder
                ? .reminder : hasFixedText ? .fixedText : risk.tier >= .high ? .opening : .card
            events.append(
                Event(
                    stage: risk.stage, tier: max(risk.tier, .crisis), category: risk.isReminder ? nil : risk.categories.first,
                    patterns: risk.patterns, scoreBucket: risk.score.map { min(max(Int($0 * 10), 0), 9) }, action: action))
        }
        if !replaced.isEmpty {
            var kinds: [String] = []
            for kind in replaced.map(\.rawValue) where !kinds.contains(kind) { kinds.append(kind) }
            events.append(
                Event(
                    stage: .outputGuard, tier: risk.tier, category: risk.categories.first, patterns: kinds, scoreBucket: nil,
                    action: .replaced))
        }
        guard !events.isEmpty else { return nil }
        self.init(events: events, jurisdiction: region.countryCode, versions: versions)
    }
}

extension RiskAssessment {
    /// The stage that found the tier. The grammar counts before the model, because a pattern explains more than a score.
    fileprivate var stage: CrisisRecord.Stage {
        if isReminder { return .state }
        if patterns.contains(where: { $0.hasPrefix(SafetyJudge.patternPrefix) }) { return .judge }
        let isFollowUp = { (id: String) in CrisisGrammar.isFollowUp(id) || id.hasPrefix(CrisisClassifier.followUpPrefix) }
        if patterns.contains(where: { !isFollowUp($0) && !$0.hasPrefix(CrisisClassifier.patternPrefix) }) { return .grammar }
        if patterns.contains(where: isFollowUp) { return .state }
        return .model
    }
}
