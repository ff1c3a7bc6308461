import CoachCore
import JSON

/// A labelled message of `domains/safety/rows/`. The rows were planned by a grid of categories, forms and languages.
public struct TrainingRow: Sendable {
    public enum Label: String, Sendable {
        case crisis, distress
        case calm = "not-crisis"
    }

    public var text: String
    public var label: Label
    public var tier: Int
    /// nil for a row without danger, or without a category.
    public var category: RiskCategory?
    /// `explicit`, `embedded`, `hard_negative`, `ordinary`, and others; see `domains/safety/rows/README.md`.
    public var form: String
    public var voice: String
    public var language: String
    /// The rows of a minimal pair have the same value and file.
    public var pair: String?
    public var file: String

    /// nil for a line that is not a row.
    init?(json line: Substring, file: String) {
        guard let value = try? JSONValue(parsing: Array(line.utf8)) else { return nil }
        func text(_ key: String) -> String? {
            guard case .string(let text)? = value[key] else { return nil }
            return text
        }
        guard let message = text("text"), let label = text("label").flatMap(Label.init), let form = text("form"),
            let language = text("lang"), let tier = value["tier"]?.integer.flatMap({ Int(exactly: $0) }), (0...4).contains(tier),
            (label == .crisis) == (tier >= RiskTier.crisis.rawValue)
        else { return nil }
        self.text = message
        self.label = label
        self.tier = tier
        category = text("category").flatMap(RiskCategory.init)
        self.form = form
        voice = text("voice") ?? ""
        self.language = language
        pair = text("pair")
        self.file = file
    }

    /// False for rows in which the danger is in one unusual detail, as few people write it.
    public var isPlain: Bool { file.contains(TrainingRow.plain) }

    static let plain = "plain"

    /// The brief by which the row was written. Its rows are left out together.
    var brief: String { TrainingRow.brief(ofFile: file) }

    /// The name of the file, or of the file whose ideas it has in other languages.
    static func brief(ofFile file: String) -> String { translations[file] ?? file }

    private static let translations = [
        "05-spanish.jsonl": "06-short-and-messy.jsonl", "07-long-and-embedded.jsonl": "06-short-and-messy.jsonl",
        "08-german-french-portuguese.jsonl": "06-short-and-messy.jsonl", "d5-languages.jsonl": "d1-clear.jsonl",
    ]

    /// The cell of the grid: category, form and language.
    public var cell: String { "\(category?.rawValue ?? "none") \(form) \(language)" }

    /// The rows of files in JSON Lines, in the order of file names. A line that is not a row is a finding "file:line".
    public static func parse(_ files: [String: String]) -> (rows: [TrainingRow], findings: [String]) {
        JSONLines.parse(files) { TrainingRow(json: $0, file: $1) }
    }

    /// A row of a domain, as a calm and ordinary message. `line` is its line in the file, from 0. Neighbouring lines count as one voice.
    public init(_ row: DomainRow, line: Int) {
        text = row.text
        label = .calm
        tier = RiskTier.none.rawValue
        category = nil
        form = TrainingRow.ordinary
        voice = "\(row.file) \(line / TrainingRow.neighbours)"
        language = row.language
        pair = nil
        file = row.file
    }

    /// The form of messages that resemble no danger.
    public static let ordinary = "ordinary"
    /// The number of neighbouring lines of a domain file that count as one voice.
    private static let neighbours = 20
}
