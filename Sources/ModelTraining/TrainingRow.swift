import CoachCore
import JSON

/// A labelled message of `domains/safety/rows/`, with its cell of the grid that the rows were planned by.
public struct TrainingRow: Sendable {
    public enum Label: String, Sendable {
        case crisis, distress
        case calm = "not-crisis"
    }

    public var text: String
    public var label: Label
    public var tier: Int
    /// nil for "none".
    public var category: RiskCategory?
    public var form: String
    public var voice: String
    public var language: String
    /// Minimal pairs share it, within their file.
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

    /// Whether people would put it so; in other rows the danger is in one odd detail.
    public var isPlain: Bool { file.contains(TrainingRow.plain) }

    static let plain = "plain"

    /// The files whose rows are left out together: some retell the ideas of others in other languages.
    var brief: String { TrainingRow.retold[file] ?? file }

    static let retold = [
        "05-spanish.jsonl": "06-short-and-messy.jsonl", "07-long-and-embedded.jsonl": "06-short-and-messy.jsonl",
        "08-german-french-portuguese.jsonl": "06-short-and-messy.jsonl", "d5-languages.jsonl": "d1-clear.jsonl",
    ]

    /// Category, form and language.
    public var cell: String { "\(category?.rawValue ?? "none") \(form) \(language)" }

    /// The rows of files in JSON Lines, in the order of file names. A line that is not a row is a finding "file:line".
    public static func parse(_ files: [String: String]) -> (rows: [TrainingRow], findings: [String]) {
        JSONLines.parse(files) { TrainingRow(json: $0, file: $1) }
    }

    /// A message about a coaching domain is a calm, ordinary one. `line`: of its file, from 0; neighbours count as one voice.
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
    /// Rows of a domain file that are left out together where voices are.
    private static let neighbours = 20
}
