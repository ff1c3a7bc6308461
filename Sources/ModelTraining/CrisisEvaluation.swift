import CoachCore

/// The figures of crisis detection on labelled rows, by stratum. Holds counts only, never a row.
public struct CrisisEvaluation: Sendable {
    /// Share of rows of each stratum that get a card (tier 2 and above).
    public private(set) var cards: [String: Proportion] = [:]
    /// Share of crisis rows with a card whose categories include the row's.
    public private(set) var category = Proportion()

    /// `risks` are the assessments of the rows, in their order; only rows that `isCounted` count.
    public init(_ rows: [TrainingRow], _ risks: [RiskAssessment], where isCounted: (TrainingRow) -> Bool = { _ in true }) {
        for (row, risk) in zip(rows, risks) where isCounted(row) {
            let hasCard = risk.tier >= .crisis
            for stratum in CrisisEvaluation.strata(of: row) { cards[stratum, default: Proportion()].count(hasCard) }
            guard row.label == .crisis else { continue }
            if row.tier == RiskTier.imminent.rawValue {
                cards["crisis, tier 4 shown as acute", default: Proportion()].count(risk.tier >= .high)
            }
            if hasCard, let expected = row.category { category.count(risk.categories.contains(expected)) }
        }
    }

    private static func strata(of row: TrainingRow) -> [String] {
        let label = row.label.rawValue
        guard row.label == .crisis else {
            return row.label == .distress
                ? [label]
                : ["", ", \(row.language)"].map { "\(label), \(row.form == TrainingRow.ordinary ? "ordinary" : "hard negative")\($0)" }
        }
        return [
            label, "\(label), \(row.form)", "\(label), \(row.category?.rawValue ?? "none")", "\(label), tier \(row.tier)",
            "\(label), \(row.language)",
        ]
    }

    /// The lines of a Markdown table, without its head: strata, and the evaluations side by side.
    public static func table(_ evaluations: [CrisisEvaluation]) -> String {
        let strata = Set(evaluations.flatMap(\.cards.keys)).sorted()
        let lines = strata.map { stratum in
            let cells = evaluations.map { ($0.cards[stratum] ?? Proportion()).text }
            return "| \(stratum) | \(evaluations.first?.cards[stratum]?.total ?? 0) | \(cells.joined(separator: " | ")) |"
        }
        let categories = evaluations.map { $0.category.text }.joined(separator: " | ")
        let rule = "|" + String(repeating: "---|", count: evaluations.count + 2)
        return ([rule] + lines + ["| category named, of crises with a card | | \(categories) |"]).joined(separator: "\n")
    }
}
