import CoachCore
import Foundation
import ModelTraining

/// What training and evaluation read: the rows of the product, and the grammar and domains of the server.
struct TrainingFiles {
    static let model = "domains/safety/model.bin"
    static let encoder = "domains/encoder.bin"
    static let largeEncoder = "domains/encoder-large.bin"
    static let domainModel = "domains/routing.bin"

    let rows: [TrainingRow]
    let domainRows: [DomainRow]
    /// Rows by other writers, which no model is trained on.
    let heldOut: (danger: [TrainingRow], domains: [DomainRow])

    /// Without near-duplicates; `heldOutOnly` without the rows to train on. Findings name files and lines that are no rows, or configuration
    /// that is invalid.
    static func load(root: URL, heldOutOnly: Bool = false) throws -> (files: TrainingFiles?, findings: [String]) {
        let (grammar, domains, findings) = CoachingFiles(root: root).detection()
        let danger = TrainingRow.parse(heldOutOnly ? [:] : try texts(root, "domains/safety/rows"))
        let ordinary = DomainRow.parse(heldOutOnly ? [:] : try texts(root, "domains/rows"))
        let heldOut = (
            danger: TrainingRow.parse(try texts(root, "domains/safety/held-out")),
            domains: DomainRow.parse(try texts(root, "domains/held-out"))
        )
        let all = findings + danger.findings + ordinary.findings + heldOut.danger.findings + heldOut.domains.findings
        guard all.isEmpty, let grammar, let domains else { return (nil, all) }
        let rows = danger.rows + ordinary.rows.enumerated().map { TrainingRow($1, line: $0) }
        return (
            TrainingFiles(
                rows: NearDuplicates.removed(from: rows), domainRows: ordinary.rows, heldOut: (heldOut.danger.rows, heldOut.domains.rows),
                assessor: MessageAssessor(grammar: grammar, domains: domains, classifier: nil, domainClassifier: nil)), []
        )
    }

    /// Trainers whose features are those of the server.
    func trainer(seed: UInt64) -> CrisisTrainer { CrisisTrainer(rows: rows, assessor: assessor, seed: seed) }

    /// `own` are an operator's examples.
    func domainTrainer(own: [DomainRow] = [], seed: UInt64) -> DomainTrainer {
        DomainTrainer(rows: domainRows, own: own, assessor: assessor, seed: seed)
    }

    /// Without models: the grammar and the routing terms alone.
    let assessor: MessageAssessor

    /// A file that a person names.
    static func text(at path: String) throws -> String {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw ProductFileUnreadable(finding: "\(path) cannot be read, or is not UTF-8")
        }
        return text
    }

    private static func texts(_ root: URL, _ folder: String) throws -> [String: String] {
        let (names, findings) = ProductFolder(root: root).names(in: folder, suffix: ".jsonl")
        if let finding = findings.first { throw ProductFileUnreadable(finding: finding) }
        return try names.reduce(into: [:]) { texts, name in
            texts[name] = try String(contentsOf: root.appendingPathComponent("\(folder)/\(name)"), encoding: .utf8)
        }
    }
}

/// A file or folder that a command cannot do without.
struct ProductFileUnreadable: Error, CustomStringConvertible {
    let finding: String

    var description: String { finding }
}
