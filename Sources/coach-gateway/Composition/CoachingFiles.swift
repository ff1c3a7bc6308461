import CoachCore
import Foundation
import GatewayServer

/// Reads `domains/` and `prompts/` and compiles them. Everything that is wrong with any file is found at once.
struct CoachingFiles {
    let root: URL

    func load() -> (coaching: Coaching?, findings: [String]) {
        var findings: [String] = []
        func attempt<Value>(_ read: () throws(ConfigurationRejected) -> Value) -> Value? {
            do throws(ConfigurationRejected) {
                return try read()
            } catch {
                findings += error.findings.map(\.description)
                return nil
            }
        }
        func file(_ path: String) -> Data {
            guard let data = FileManager.default.contents(atPath: root.appendingPathComponent(path).path) else {
                findings.append("\(path): cannot be read")
                return Data()
            }
            return data
        }
        let grammarFile = file("domains/safety/crisis-grammar.json")
        let resourcesFile = file("domains/safety/resources.json")
        let grammar = attempt { () throws(ConfigurationRejected) in try CrisisGrammar(json: grammarFile) }
        let resources = attempt { () throws(ConfigurationRejected) in try CrisisResources(json: resourcesFile) }
        let domains = attempt { () throws(ConfigurationRejected) in try DomainConfigurations(files: folder("domains", suffix: ".json")) }
        let templates = attempt { () throws(ConfigurationRejected) in try PromptTemplates(files: folder("prompts", suffix: ".md")) }
        guard findings.isEmpty, let grammar, let resources, let domains, let templates else { return (nil, findings) }
        let coaching = Coaching(
            assessor: MessageAssessor(grammar: grammar, domains: domains), fusion: SafetyFusion(grammar: grammar),
            prompts: PromptBuilder(templates: templates, domains: domains), resources: resources)
        return (coaching, [])
    }

    /// The files of a folder by name, without its subfolders.
    private func folder(_ name: String, suffix: String) -> [String: Data] {
        let folder = root.appendingPathComponent(name)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return Dictionary(
            uniqueKeysWithValues: names.filter { $0.hasSuffix(suffix) }.map {
                ($0, FileManager.default.contents(atPath: folder.appendingPathComponent($0).path) ?? Data())
            })
    }
}
