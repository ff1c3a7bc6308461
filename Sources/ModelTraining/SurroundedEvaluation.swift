import CoachCore

/// How cards on messages change when some 500 characters of other harmless messages surround each message. Holds counts only, never a row.
public struct SurroundedEvaluation: Sendable {
    /// The cards on the messages of one stratum, by themselves and among other text.
    public struct Stratum: Sendable {
        public private(set) var alone = Proportion()
        public private(set) var surrounded = Proportion()

        mutating func count(_ hasCard: (alone: Bool, surrounded: Bool)) {
            alone.count(hasCard.alone)
            surrounded.count(hasCard.surrounded)
        }
    }

    /// Crises that have a card by themselves.
    public private(set) var cards = Stratum()
    public private(set) var ordinary = Stratum()
    public private(set) var hardNegatives = Stratum()

    /// Characters of other messages, about half of them on each side.
    private static let length = 500
    /// Characters of the longest message that is evaluated.
    private static let longest = 300

    /// Evaluates the rows in English and Spanish. Each is surrounded by ordinary rows of its language that have no card by themselves, with a full stop
    /// after a row without punctuation at its end. `hasCards` returns for each of `messages` whether it gets a card.
    public init(_ rows: [TrainingRow], hasCards: (_ messages: [String]) -> [Bool]) {
        let short = rows.filter { $0.text.count <= SurroundedEvaluation.longest && ["en", "es"].contains($0.language) }
        let alone = hasCards(short.map(\.text))
        let known = zip(short, alone).filter { $0.label != .distress && ($0.label == .calm || $1) }
        let harmless = zip(short, alone).filter { $0.label == .calm && $0.form == TrainingRow.ordinary && !$1 }.map(\.0)
        let others = Dictionary(grouping: harmless, by: \.language).mapValues { $0.map(\.text) }
        let texts = known.enumerated().map { place, row in
            SurroundedEvaluation.surrounded(row.0.text, by: others[row.0.language] ?? [], from: place)
        }
        for ((row, alone), surrounded) in zip(known, hasCards(texts)) {
            switch (row.label, row.form) {
            case (.calm, TrainingRow.ordinary): ordinary.count((alone, surrounded))
            case (.calm, _): hardNegatives.count((alone, surrounded))
            default: cards.count((alone, surrounded))
            }
        }
    }

    private static func surrounded(_ text: String, by rows: [String], from place: Int) -> String {
        let others = rows.filter { $0 != text }
        // So that neighbouring messages do not share all of their surroundings.
        var next = place * 7
        func side() -> [String] {
            var side: [String] = []
            while side.reduce(0, { $0 + $1.count }) < length / 2, !others.isEmpty {
                side.append(ended(others[next % others.count]))
                next += 1
            }
            return side
        }
        let before = side()
        return (before + [ended(text)] + side()).joined(separator: " ")
    }

    private static func ended(_ text: String) -> String { ".!?…".contains(text.last ?? ".") ? text : text + "." }

    /// The shares among other text, by stratum.
    public var shares: [String: Double] {
        strata.reduce(into: [:]) { $0[$1.name] = $1.stratum.surrounded.share }
    }

    private var strata: [(name: String, stratum: Stratum)] {
        [("cards kept", cards), ("not-crisis, ordinary", ordinary), ("not-crisis, hard negative", hardNegatives)]
    }

    /// A Markdown table.
    public var table: String {
        let lines = strata.map { "| \($0) | \($1.alone.total) | \($1.alone.text) | \($1.surrounded.text) |" }
        let head = "| held-out rows | rows | by themselves | among \(SurroundedEvaluation.length) characters of others |"
        return ([head, "|---|---|---|---|"] + lines).joined(separator: "\n")
    }
}
