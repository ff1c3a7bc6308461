import Foundation

/// Selects the domain of a turn: the client's pin, else the persona's domain, else from the message and the conversation. Pure.
///
/// `temperature`, `minimumProbability` and `minimumMargin` were fitted together on labelled development messages.
public enum DomainRouter {
    /// Score of "no domain", which a domain's score competes with.
    static let noneScore: Float = 1
    /// Divides the scores before the softmax.
    static let temperature = 1.0
    /// Minimum probability of a domain for the message to decide, where routing terms alone score it.
    public static let minimumProbability = 0.45
    /// Minimum lead over the next candidate for the message to decide.
    static let minimumMargin = 0.12
    /// Minimum probability to change the domain of a conversation. One term of weight 3 reaches it, one of weight 1 does not.
    static let switchProbability = 0.55
    /// Prior probability of the conversation's domain.
    static let conversationPrior = 0.6
    /// Exponent of the prior.
    static let priorWeight = 0.8
    /// Messages with fewer words do not change the conversation's domain.
    static let minimumWordCount = 4

    /// A short or undecided message keeps the conversation's domain; without one the router abstains. By default as for a conversation's first message to
    /// the plain coach.
    public static func decide(
        _ scores: DomainScores, pinned: Domain? = nil, persona: Domain? = nil, conversationDomain: Domain? = nil
    ) -> DomainDecision {
        if let pinned { return DomainDecision(domain: pinned, confidence: 1, source: .pinned) }
        if let persona { return DomainDecision(domain: persona, confidence: 1, source: .persona) }
        let probabilities = probabilities(scores, conversationDomain: conversationDomain)
        let ranked = Domain.allCases.indices.sorted { probabilities[$0] > probabilities[$1] }
        guard let best = ranked.first, ranked.count > 1 else { return .undecided }
        let top = probabilities[best]
        let runnerUp = max(probabilities[ranked[1]], probabilities[Domain.allCases.count])
        let decided = top >= scores.minimumProbability && top - runnerUp >= minimumMargin
        if let conversationDomain {
            let stays = Domain.allCases[best] == conversationDomain
            let short = scores.wordCount < minimumWordCount
            if decided, stays { return DomainDecision(domain: conversationDomain, confidence: top, source: .message) }
            if !short, decided, top >= max(switchProbability, scores.minimumProbability) {
                return DomainDecision(domain: Domain.allCases[best], confidence: top, source: .message)
            }
            let confidence = Domain.allCases.firstIndex(of: conversationDomain).map { probabilities[$0] } ?? 0
            return DomainDecision(domain: conversationDomain, confidence: confidence, source: .conversation)
        }
        guard decided else { return DomainDecision(domain: nil, confidence: top, source: .abstained) }
        return DomainDecision(domain: Domain.allCases[best], confidence: top, source: .message)
    }

    /// Softmax over the domains and "no domain" (last), with the conversation's domain as prior.
    private static func probabilities(_ scores: DomainScores, conversationDomain: Domain?) -> [Double] {
        var logits = scores.all.map { Double($0) / temperature }
        if let conversationDomain, let index = Domain.allCases.firstIndex(of: conversationDomain) {
            let rest = (1 - conversationPrior) / Double(logits.count - 1)
            for other in logits.indices {
                logits[other] += priorWeight * log(other == index ? conversationPrior : rest)
            }
        }
        let highest = logits.max() ?? 0
        let weights = logits.map { exp($0 - highest) }
        let sum = weights.reduce(0, +)
        return weights.map { $0 / sum }
    }
}
