import ArgumentParser
import CoachCore
import JSON

/// `assess`: why a message gets a card, for people who work on grammar, rows, and models.
struct AssessCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "assess",
        abstract: "Assess messages from standard input, one a line; print tier, patterns, score and domain of each as JSON Lines.",
        discussion: "A line may begin with earlier messages of the same user, oldest first, each with a tab behind it.")

    func run() throws {
        let assessor = try CoachingFiles(root: try DataFolders.required()).assessor()
        while let line = readLine() { Console.writeLine(Self.answer(to: line, by: assessor)) }
    }

    /// The answer to a line of the input, of which the last message is assessed.
    static func answer(to line: String, by assessor: MessageAssessor) -> String {
        let messages = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        return Self.line(messages[messages.count - 1], after: messages.dropLast(), by: assessor)
    }

    /// All is of the last look, an encoder's where one reads the message, and as of a user whose stored level is calm. `score` is the highest of all
    /// models for the message alone; `score_in_context` that of the last encoder for it and the earlier ones together, null where they are not read.
    private static func line(_ message: String, after earlier: [String], by assessor: MessageAssessor) -> String {
        let first = assessor.assess(message)
        let last = assessor.reassess(message, assessor.assessFully(message), after: earlier)
        let inContext = assessor.crisisProbability(message, after: earlier)
        let domain = DomainRouter.decide(last.domains)
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
                writer.member("score_in_context", inContext.map(Double.init))
                writer.member("domain", domain.domain?.rawValue)
                writer.member("confidence", domain.confidence)
                writer.member("text", message)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension CoachingFiles {
    /// The server's assessor. Throws `ValidationError` with every finding.
    func assessor() throws -> MessageAssessor {
        let (parts, findings, _) = load()
        guard let parts else { throw ValidationError(findings.joined(separator: "\n")) }
        return parts.assessor(parts.domains)
    }
}
