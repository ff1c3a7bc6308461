import CoachCore
import Foundation

extension Workload {
    /// The work on a message before the model is called, with the shipped domains, prompts and crisis grammar.
    static let coaching: [Workload] = [
        // The target: together with routing at most 0.2 ms at p99 for 500 characters.
        Workload("detect-and-route-500-characters", .one) {
            let assessor = try Shipped.assessor()
            return { count in
                for _ in 0..<count {
                    let assessment = assessor.assess(Sample.message)
                    blackHole(DomainRouter.decide(assessment.domains))
                }
            }
        },
        Workload("route-1000-times", .one) {
            let scores = try Shipped.assessor().assess(Sample.message).domains
            return { count in
                for _ in 0..<count {
                    for _ in 0..<1000 { blackHole(DomainRouter.decide(scores, conversationDomain: .fitness)) }
                }
            }
        },
        Workload("prompt-20-messages", .one) {
            let builder = PromptBuilder(templates: try Shipped.templates(), domains: try Shipped.domains())
            return { count in
                for _ in 0..<count {
                    blackHole(
                        builder.prompt(
                            message: Sample.message, context: Sample.context, domain: .fitness,
                            safety: SafetyDecision(risk: .calm, level: .calm), card: nil))
                }
            }
        },
        // At most 0.3 µs a token; the share of tokens that wait is held by OutputGuardTests.
        Workload("guard-ordinary-token", .thousand) {
            let outputGuard = try Shipped.outputGuard()
            let tokens = Sample.tokens
            return { count in
                var answer = GuardedAnswer(outputGuard, language: "en", holdsSentences: false)
                for index in 0..<count {
                    tokens[index % tokens.count].withUnsafeBufferPointer { blackHole(answer.take($0)) }
                }
            }
        },
    ]
}

/// A message of 500 characters, and the context of its author.
private enum Sample {
    static let message = String(
        ("I can't sleep since my manager told me that my team will be cut. My partner says I should run again, but I feel empty and I don't "
            + "know whether I want to go on like this. Last week I wrote three pages of my book and it felt good for an hour. How do I ask "
            + "for a raise when everyone around me is afraid? My goals were: run 10 km in June, finish the draft, be there for my children. "
            + "None of it happens. Sometimes I think nobody would notice if I was gone, then I make tea and it passes. What should I do first?")
            .prefix(500))

    /// Of an ordinary answer, as models cut it: words with the space before them.
    static let tokens = message.split(separator: " ").map { Array(" \($0)".utf8) }

    static let context = TurnContext(
        identity: TurnIdentity(turnID: .random(), conversationID: .random(), userMessageID: .random(), messageID: .random(), attempt: 1),
        day: CalendarDay(unixSeconds: 0),
        profile: ContextProfile(values: ["family", "honesty"], goals: ["run 10 km in June"], situation: ["two children", "works nights"]),
        summary: "The user trains for a 10 km race and sleeps badly.",
        history: (0..<20).map { HistoryMessage(role: $0 % 2 == 0 ? .user : .assistant, content: String(message.prefix(200))) },
        persona: nil, safetyLevel: .calm, conversationDomain: .fitness, region: .unknown)
}

/// The shipped configuration files, read from the checkout.
private enum Shipped {
    static func assessor() throws -> MessageAssessor {
        MessageAssessor(
            grammar: try CrisisGrammar(json: data("domains/safety/crisis-grammar.json")), domains: try domains(),
            classifier: try CrisisClassifier(
                LinearClassifier(file: data("domains/safety/model.bin"), named: "model.bin"), file: "model.bin"),
            domainClassifier: nil)
    }

    static func outputGuard() throws -> OutputGuard {
        OutputGuard(
            rules: try OutputRules(json: data("domains/safety/output-guard.json")),
            resources: try CrisisResources(json: data("domains/safety/resources.json")))
    }

    static func domains() throws -> DomainConfigurations { try DomainConfigurations(files: files(in: "domains", suffix: ".json")) }

    static func templates() throws -> PromptTemplates { try PromptTemplates(files: files(in: "prompts", suffix: ".md")) }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func data(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: root.appending(path: path))) }

    private static func files(in folder: String, suffix: String) throws -> [String: [UInt8]] {
        let names = try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
        return try names.filter { $0.hasSuffix(suffix) }.reduce(into: [:]) { $0[$1] = try data("\(folder)/\($1)") }
    }
}
