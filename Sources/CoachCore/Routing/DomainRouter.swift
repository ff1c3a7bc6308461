import Foundation

/// Decides which domain a turn belongs to: pin, then persona, then the message in the light of the conversation (facts §5.2). Pure.
public struct DomainRouter: Sendable {
    /// Score of "none of the seven": what a message must outweigh to be routed.
    static let noneScore: Float = 1
    /// Divides scores before the softmax. Fitted on the development set together with the two limits below.
    static let temperature = 1.0
    /// Below this probability the message decides nothing.
    static let leastProbability = 0.45
    /// Below this lead over the runner-up the message decides nothing.
    static let leastMargin = 0.12
    /// A conversation changes its domain at this probability: one term that names another domain is enough, a hint is not.
    static let switchProbability = 0.55
    /// What the conversation's own domain is believed before the message is read.
    static let priorOfConversation = 0.6
    /// Exponent of that belief.
    static let priorWeight = 0.8
    /// Messages with fewer words follow the conversation.
    static let shortestDecisive = 4

    /// Stateless.
    public init() {}

    /// The domain of a turn. `pinned` by the client wins over the persona's own, which wins over the message; a short or undecided
    /// message stays in the conversation's domain, and without one the router abstains.
    public func decide(
        _ scores: DomainScores, pinned: Domain?, persona: Domain?, conversationDomain: Domain?
    ) -> DomainDecision {
        if let pinned { return DomainDecision(domain: pinned, confidence: 1, source: .pinned) }
        if let persona { return DomainDecision(domain: persona, confidence: 1, source: .persona) }
        let probabilities = probabilities(scores, conversationDomain: conversationDomain)
        let ranked = Domain.allCases.indices.sorted { probabilities[$0] > probabilities[$1] }
        guard let best = ranked.first, ranked.count > 1 else { return DomainDecision(domain: nil, confidence: 0, source: .abstained) }
        let top = probabilities[best]
        let runnerUp = max(probabilities[ranked[1]], probabilities[Domain.allCases.count])
        let decided = top >= DomainRouter.leastProbability && top - runnerUp >= DomainRouter.leastMargin
        if let conversationDomain {
            let stays = Domain.allCases[best] == conversationDomain
            let short = scores.wordCount < DomainRouter.shortestDecisive
            if decided, stays { return DomainDecision(domain: conversationDomain, confidence: top, source: .message) }
            if !short, decided, top >= DomainRouter.switchProbability {
                return DomainDecision(domain: Domain.allCases[best], confidence: top, source: .message)
            }
            let confidence = Domain.allCases.firstIndex(of: conversationDomain).map { probabilities[$0] } ?? 0
            return DomainDecision(domain: conversationDomain, confidence: confidence, source: .conversation)
        }
        guard decided else { return DomainDecision(domain: nil, confidence: top, source: .abstained) }
        return DomainDecision(domain: Domain.allCases[best], confidence: top, source: .message)
    }

    /// Softmax over the seven and "none", mixed with the conversation's domain as a prior. "None" is last.
    private func probabilities(_ scores: DomainScores, conversationDomain: Domain?) -> [Double] {
        var logits = (scores.values + [scores.none]).map { Double($0) / DomainRouter.temperature }
        if let conversationDomain, let index = Domain.allCases.firstIndex(of: conversationDomain) {
            let rest = (1 - DomainRouter.priorOfConversation) / Double(logits.count - 1)
            for other in logits.indices {
                logits[other] += DomainRouter.priorWeight * log(other == index ? DomainRouter.priorOfConversation : rest)
            }
        }
        let highest = logits.max() ?? 0
        let weights = logits.map { exp($0 - highest) }
        let sum = weights.reduce(0, +)
        return weights.map { $0 / sum }
    }
}
