import CoachCore
import JSON

/// Cards on messages of other authors, as counts by their source and label. Such messages are no part of the product: only counts leave.
public enum CrossCheck {
    /// `content` is JSON Lines with `text`, `label` and `source`. A Markdown table of the share of cards by each assessor.
    public static func table(_ content: String, _ assessors: [(name: String, assess: @Sendable (String) -> RiskAssessment)]) -> String {
        var shares: [String: [Proportion]] = [:]
        for line in content.split(separator: "\n") {
            guard let row = try? JSONValue(parsing: Array(line.utf8)), case .string(let text)? = row["text"],
                case .string(let label)? = row["label"], case .string(let source)? = row["source"]
            else { continue }
            var counted = shares["\(source), \(label)"] ?? assessors.map { _ in Proportion() }
            for (index, assessor) in assessors.enumerated() {
                counted[index].count(assessor.assess(text).tier >= .crisis)
            }
            shares["\(source), \(label)"] = counted
        }
        let lines = shares.sorted { $0.key < $1.key }.map { stratum, counted in
            "| \(stratum) | \(counted[0].total) | \(counted.map { "\($0.hits)" }.joined(separator: " | ")) |"
        }
        let head = "| source, label | rows | \(assessors.map(\.name).joined(separator: " | ")) |"
        return ([head, "|" + String(repeating: "---|", count: assessors.count + 2)] + lines).joined(separator: "\n")
    }
}
