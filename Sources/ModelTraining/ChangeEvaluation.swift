import CoachCore

/// A change of a message that leaves its meaning.
public enum MessageChange: String, Sendable {
    /// Some 500 characters of other harmless messages, about half of them on each side.
    case surrounded
    /// 5 of 100 letters: swapped with the next one, left out, doubled, or replaced by a neighbour on the keyboard.
    case mistyped

    var title: String {
        switch self {
        case .surrounded: "among \(SurroundingText.length) characters of others"
        case .mistyped: "with 5 of 100 letters mistyped"
        }
    }
}

/// How cards on messages change with a change of each message. Holds counts only, never a row.
public struct ChangeEvaluation: Sendable {
    /// The cards on the messages of one stratum, as they are and changed.
    public struct Stratum: Sendable {
        public private(set) var unchanged = Proportion()
        public private(set) var changed = Proportion()

        mutating func count(_ hasCard: (unchanged: Bool, changed: Bool)) {
            unchanged.count(hasCard.unchanged)
            changed.count(hasCard.changed)
        }
    }

    private let change: MessageChange
    /// Crises that have a card unchanged.
    public private(set) var cards = Stratum()
    public private(set) var ordinary = Stratum()
    public private(set) var hardNegatives = Stratum()

    /// Characters of the longest message that is evaluated.
    private static let longest = 300

    /// Evaluates the rows in English and Spanish. `hasCards` returns for each of `messages` whether it gets a card.
    public init(_ rows: [TrainingRow], _ change: MessageChange, hasCards: (_ messages: [String]) -> [Bool]) {
        self.change = change
        let short = rows.filter { $0.text.count <= ChangeEvaluation.longest && ["en", "es"].contains($0.language) }
        let unchanged = hasCards(short.map(\.text))
        let known = zip(short, unchanged).filter { $0.label != .distress && ($0.label == .calm || $1) }
        let texts: [String]
        switch change {
        case .surrounded:
            let harmless = zip(short, unchanged).filter { $0.label == .calm && $0.form == TrainingRow.ordinary && !$1 }.map(\.0)
            let surrounding = SurroundingText(harmless)
            texts = known.enumerated().map { surrounding.around($1.0, place: $0) }
        case .mistyped: texts = known.enumerated().map { TypingErrors.mistype($1.0.text, place: $0) }
        }
        for ((row, unchanged), changed) in zip(known, hasCards(texts)) {
            switch (row.label, row.form) {
            case (.calm, TrainingRow.ordinary): ordinary.count((unchanged, changed))
            case (.calm, _): hardNegatives.count((unchanged, changed))
            default: cards.count((unchanged, changed))
            }
        }
    }

    /// The shares of the changed messages, by stratum.
    public var shares: [String: Double] {
        strata.reduce(into: [:]) { $0[$1.name] = $1.stratum.changed.share }
    }

    private var strata: [(name: String, stratum: Stratum)] {
        [("cards kept", cards), ("not-crisis, ordinary", ordinary), ("not-crisis, hard negative", hardNegatives)]
    }

    /// A Markdown table.
    public var table: String {
        let lines = strata.map { "| \($0) | \($1.unchanged.total) | \($1.unchanged.text) | \($1.changed.text) |" }
        let head = "| held-out rows | rows | unchanged | \(change.title) |"
        return ([head, "|---|---|---|---|"] + lines).joined(separator: "\n")
    }
}
