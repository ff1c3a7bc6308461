import Foundation
import Testing

@testable import CoachCore

/// Files of the checkout.
enum Checkout {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static func data(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: root.appending(path: path))) }

    static func files(in folder: String, suffix: String) throws -> [String: [UInt8]] {
        let names = try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
        var files: [String: [UInt8]] = [:]
        for name in names where name.hasSuffix(suffix) { files[name] = try data("\(folder)/\(name)") }
        return files
    }

    /// The lines of a file in `Safety/Cases`, without comments and blank lines.
    static func cases(_ name: String) throws -> [String] {
        let text = String(decoding: try data("Tests/CoachCoreTests/Safety/Cases/\(name)"), as: UTF8.self)
        return text.split(separator: "\n").map(String.init).filter { !$0.hasPrefix(";") }
    }
}

/// The shipped configuration, loaded once.
enum Shipped {
    static let grammar = must { try CrisisGrammar(json: Checkout.data("domains/safety/crisis-grammar.json")) }
    static let domains = must { try DomainConfigurations(files: Checkout.files(in: "domains", suffix: ".json")) }
    static let resources = must { try CrisisResources(json: Checkout.data("domains/safety/resources.json")) }
    static let templates = must { try PromptTemplates(files: Checkout.files(in: "prompts", suffix: ".md")) }
    static let classifier = must {
        try CrisisClassifier(LinearClassifier(file: Checkout.data("domains/safety/model.bin"), named: "model.bin"), file: "model.bin")
    }
    static let domainClassifier = must {
        try DomainClassifier(LinearClassifier(file: Checkout.data("domains/routing.bin"), named: "routing.bin"), file: "routing.bin")
    }
    static let outputGuard = must {
        try OutputGuard(rules: OutputRules(json: Checkout.data("domains/safety/output-guard.json")), resources: resources)
    }
    static let encoder = must { try MessageEncoder(file: Checkout.data("domains/encoder.bin"), named: "encoder.bin") }
    static let largeEncoder = must {
        try MessageEncoder(file: Checkout.data("domains/encoder-large.bin"), named: "encoder-large.bin", previous: encoder)
    }
    static let assessor = MessageAssessor(
        grammar: grammar, domains: domains, classifier: classifier, domainClassifier: nil, encoder: encoder, largeEncoder: largeEncoder)
    static let grammarAlone = MessageAssessor(grammar: grammar, domains: domains, classifier: nil, domainClassifier: nil)
    static let fusion = SafetyFusion(grammar: grammar)

    /// Stops the test run when a shipped file is invalid.
    private static func must<Value>(_ load: () throws -> Value) -> Value {
        do { return try load() } catch { fatalError("the shipped configuration is invalid: \(error)") }
    }
}
