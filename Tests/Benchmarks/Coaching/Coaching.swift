import Benchmark
import CoachCore
import Foundation

/// What is thought about a message before the model is asked, with the shipped domains, prompts and crisis grammar.
let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock, .instructions], warmupIterations: 10, maxDuration: .seconds(2), maxIterations: 20_000,
        thresholds: [.wallClock: .init(relative: [.p90: 100]), .instructions: .init(relative: [.p90: 5])])

    let shipped = Shipped.load()
    let reader = MessageReader(grammar: shipped.grammar, domains: shipped.domains)
    let router = DomainRouter()
    let message = String(
        ("I can't sleep since my manager told me that my team will be cut. My partner says I should run again, but I feel empty and I don't "
            + "know whether I want to go on like this. Last week I wrote three pages of my book and it felt good for an hour. How do I ask "
            + "for a raise when everyone around me is afraid? My goals were: run 10 km in June, finish the draft, be there for my children. "
            + "None of it happens. Sometimes I think nobody would notice if I was gone, then I make tea and it passes. What should I do first?")
            .prefix(500))

    // Together with routing at most 0.2 ms at p99: the promise for 500 characters.
    Benchmark("detect-and-route-500-characters") { benchmark in
        for _ in benchmark.scaledIterations {
            let assessment = reader.assess(message)
            blackHole(router.decide(assessment.domains, pinned: nil, persona: nil, conversationDomain: nil))
        }
    }

    let scores = reader.assess(message).domains
    Benchmark("route-1000-times") { benchmark in
        for _ in 0..<1000 { blackHole(router.decide(scores, pinned: nil, persona: nil, conversationDomain: .fitness)) }
    }

    let builder = PromptBuilder(templates: shipped.templates, domains: shipped.domains)
    let context = TurnContext(
        identity: TurnIdentity(turnID: .random(), conversationID: .random(), userMessageID: .random(), messageID: .random(), attempt: 1),
        profile: ContextProfile(values: ["family", "honesty"], goals: ["run 10 km in June"], situation: ["two children", "works nights"]),
        summary: "The user trains for a 10 km race and sleeps badly.",
        history: (0..<20).map { HistoryMessage(speaker: $0 % 2 == 0 ? .user : .assistant, content: String(message.prefix(200))) },
        persona: nil, safetyLevel: .calm, conversationDomain: .fitness, country: nil, locale: nil)
    Benchmark("prompt-20-messages") { benchmark in
        for _ in benchmark.scaledIterations {
            blackHole(
                builder.prompt(
                    message: message, context: context, domain: .fitness, safety: SafetyDecision(risk: .calm, level: .calm), card: nil))
        }
    }
}

/// The files of the product, read from the checkout.
private struct Shipped {
    let grammar: CrisisGrammar
    let domains: DomainConfigurations
    let templates: PromptTemplates

    static func load() -> Shipped {
        do {
            return Shipped(
                grammar: try CrisisGrammar(json: data("domains/safety/crisis-grammar.json")),
                domains: try DomainConfigurations(files: files(in: "domains", suffix: ".json")),
                templates: try PromptTemplates(files: files(in: "prompts", suffix: ".md")))
        } catch {
            // Without the shipped files there is nothing to measure.
            fatalError("the shipped configuration is broken: \(error)")
        }
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func data(_ path: String) throws -> Data { try Data(contentsOf: root.appending(path: path)) }

    private static func files(in folder: String, suffix: String) throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
        return try names.filter { $0.hasSuffix(suffix) }.reduce(into: [:]) { $0[$1] = try data("\(folder)/\($1)") }
    }
}
