import ArgumentParser
import CoachCore
import JSON

/// `assess`: why a message gets a card, for people who work on grammar, rows, and models.
struct AssessCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "assess",
        abstract: "Assess messages from standard input, one a line; print tier, patterns, score and domain of each as JSON Lines.")

    func run() throws {
        let (parts, findings, _) = CoachingFiles(root: try DataFolders.required()).load()
        guard let parts else { throw ValidationError(findings.joined(separator: "\n")) }
        let assessor = parts.assessor(parts.domains)
        while let message = readLine() { Console.writeLine(Self.line(message, by: assessor)) }
    }

    /// All is of the last look, an encoder's where one reads the message. `score` is the highest of all models.
    static func line(_ message: String, by assessor: MessageAssessor) -> String {
        let (first, last) = (assessor.assess(message), assessor.assessFully(message))
        let domain = DomainRouter().decide(last.domains, pinned: nil, persona: nil, conversationDomain: nil)
        let bytes = JSONWriter.encode { writer in
            writer.object { writer in
                writer.member("tier", last.risk.tier.rawValue)
                writer.key(literal: "categories")
                writer.array { writer in
                    for category in last.risk.categories { writer.string(category.rawValue) }
                }
                writer.key(literal: "patterns")
                writer.array { writer in
                    for pattern in last.risk.patterns { writer.string(pattern) }
                }
                writer.member("linear_score", first.risk.score.map(Double.init))
                writer.member("score", last.risk.score.map(Double.init))
                writer.member("domain", domain.domain?.rawValue)
                writer.member("confidence", domain.confidence)
                writer.member("text", message)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
