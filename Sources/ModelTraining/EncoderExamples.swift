import BinaryFormats
import CoachCore
import JSON

/// Writes rows as JSON Lines for the trainer of the encoders (`domains/encoder/train.py`).
public struct EncoderExamples {
    private static let folds: UInt32 = 6

    private let assessor: MessageAssessor

    /// `assessor` is the one of the server.
    public init(assessor: MessageAssessor) { self.assessor = assessor }

    /// Whether a row's brief is among the sixth of the briefs that are not trained on. Their rows set the encoder's thresholds and measure it.
    public static func isLeftOut(_ row: TrainingRow) -> Bool { fold(row.brief) == 0 }

    /// The fold depends on the text only, so that new rows move no row to another fold.
    private static func fold(_ text: String) -> UInt32 { CRC32.of(Array(text.utf8)[...]) % folds }

    /// One line per row. `scores`: the linear model's probability of a crisis, by a model that has not seen the row.
    public func lines(_ rows: [TrainingRow], domains: DomainTrainer, grammar: [RiskAssessment], scores: [Float]) -> String {
        let domain = Dictionary(domains.rows.map { ($0.text, $0.domain?.rawValue ?? DomainClassifier.none) }) { first, _ in first }
        let first = domains.firstScores()
        return zip(rows, zip(grammar, scores)).map { row, found in
            line(
                row.text, label: row.label.rawValue, tier: row.tier, category: row.category, form: row.form, language: row.language,
                isPlain: row.isPlain, brief: row.brief, grammar: found.0.tier, score: found.1, domain: domain[row.text],
                first: first[row.text])
        }.joined()
    }

    /// One line for each message of other sources, each with a brief of its own. `content` is JSON Lines with `text`, `label` and `source`, and where known
    /// `tier`, `category` and `lang`.
    public func lines(ofOthers content: String) -> String {
        content.split(separator: "\n").compactMap { line in
            guard let row = try? JSONValue(parsing: Array(line.utf8)), let text = row["text"]?.string, let label = row["label"]?.string
            else { return nil }
            let isCrisis = label == TrainingRow.Label.crisis.rawValue
            let tier = max(row["tier"]?.number.map { Int($0) } ?? 0, isCrisis ? RiskTier.crisis.rawValue : 0)
            let category = row["category"]?.string.flatMap { RiskCategory(rawValue: String($0.map { $0 == "-" ? "_" : $0 })) }
            let found = assessor.analyse(text).risk
            return self.line(
                text, label: label, tier: tier, category: isCrisis ? category : nil, form: row["source"]?.string ?? "",
                language: row["lang"]?.string ?? "en", isPlain: false, brief: text, grammar: found.tier,
                score: assessor.assess(text).risk.score ?? 0, domain: nil, first: nil)
        }.joined()
    }

    private func line(
        _ text: String, label: String, tier: Int, category: RiskCategory?, form: String, language: String, isPlain: Bool, brief: String,
        grammar: RiskTier, score: Float, domain: String?, first: DomainTrainer.FirstScores?
    ) -> String {
        let object = JSONWriter.encode { writer in
            writer.object { writer in
                writer.key(literal: "words")
                writer.array { writer in
                    for word in assessor.words(of: text) { writer.string(word) }
                }
                writer.member("label", label)
                writer.member("tier", tier)
                writer.member("category", category?.rawValue)
                writer.member("form", form)
                writer.member("lang", language)
                writer.member("plain", isPlain)
                writer.member("brief", brief)
                writer.member("fold", Self.fold(brief))
                writer.member("grammar", grammar.rawValue)
                writer.member("score", Double(score))
                writer.member("domain", domain)
                let members: [(StaticString, [Float]?)] = [("linear", first?.linear), ("terms", first?.terms)]
                for (name, values) in members {
                    guard let values else { continue }
                    writer.key(literal: name)
                    writer.array { writer in
                        for value in values { writer.number(Double(value)) }
                    }
                }
            }
        }
        return String(decoding: object, as: UTF8.self) + "\n"
    }
}
