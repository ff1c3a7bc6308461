import CoachCore
import Foundation

/// The figures of routing on labelled messages without a conversation. Holds counts only, never a row.
public struct DomainEvaluation: Sendable {
    /// The shares of rows that are decided as labelled: by domain, and by form of the rows that have one. Also the share of foreign messages that are
    /// not routed, and the share of routed messages that are routed to their domain.
    public private(set) var shares: [String: Proportion] = [:]
    private var predicted: [Domain: Int] = [:]

    static let accuracy = "right, of routed"
    static let coverage = "routed, of those with a domain"
    static let foreign = "not routed, of foreign"

    /// `decisions` are those of the rows, in their order.
    public init(_ rows: [DomainRow], _ decisions: [DomainDecision]) {
        func count(_ stratum: String, _ hit: Bool) { shares[stratum, default: Proportion()].count(hit) }
        for (row, decision) in zip(rows, decisions) {
            let isRight = row.domain == decision.domain
            if let routed = decision.domain {
                count(DomainEvaluation.accuracy, isRight)
                predicted[routed, default: 0] += 1
            }
            guard let domain = row.domain else {
                count(DomainEvaluation.foreign, isRight)
                continue
            }
            count(DomainEvaluation.coverage, decision.domain != nil)
            count("recall, \(domain.rawValue)", isRight)
            count("form, \(row.form)", isRight)
            count("language, \(row.language)", isRight)
        }
    }

    /// The mean of the domains' F1; a message that is not routed counts as missed.
    public var macroF1: Double {
        let scores = Domain.allCases.map { domain -> Double in
            guard let recall = shares["recall, \(domain.rawValue)"] else { return 0 }
            let both = recall.total + predicted[domain, default: 0]
            return both == 0 ? 0 : 2 * Double(recall.hits) / Double(both)
        }
        return scores.reduce(0, +) / Double(scores.count)
    }

    /// The lines of a Markdown table.
    public var table: String {
        let lines = shares.sorted { $0.key < $1.key }.map { "| \($0.key) | \($0.value.total) | \($0.value.text) |" }
        return (["| messages | number | share |", "|---|---|---|"] + lines + ["| macro-F1 | | \(String(format: "%.3f", macroF1)) |"])
            .joined(separator: "\n")
    }
}
