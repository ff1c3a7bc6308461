import CoachCore
import JSON

/// A labelled message of `domains/rows/`.
public struct DomainRow: Sendable {
    public var text: String
    /// nil for a message outside all domains.
    public var domain: Domain?
    public var form: String
    public var language: String
    /// The file that holds it.
    public var file: String

    /// Of a file of plain messages, see domains/rows/README.md.
    var isPlain: Bool { file.contains(TrainingRow.plain) }

    /// nil for a line that is not a row.
    init?(json line: Substring, file: String) {
        guard let value = try? JSONValue(parsing: Array(line.utf8)), case .string(let text)? = value["text"],
            case .string(let domain)? = value["domain"], case .string(let form)? = value["form"],
            case .string(let language)? = value["lang"]
        else { return nil }
        self.domain = Domain(rawValue: domain)
        guard self.domain != nil || domain == DomainClassifier.none else { return nil }
        self.text = text
        self.form = form
        self.language = language
        self.file = file
    }

    /// The rows of files in JSON Lines, in the order of file names. A line that is not a row is a finding "file:line".
    public static func parse(_ files: [String: String]) -> (rows: [DomainRow], findings: [String]) {
        JSONLines.parse(files) { DomainRow(json: $0, file: $1) }
    }
}
