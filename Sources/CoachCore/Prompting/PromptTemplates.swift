import Foundation

/// The texts of `prompts/`, read and checked.
public struct PromptTemplates: Sendable, Equatable {
    /// A file of `prompts/` and the places it must have, each at least once.
    enum Name: String, CaseIterable, Sendable {
        case system
        case domain
        case genericDomain = "generic-domain"
        case safety
        case persona
        case context
        case summary
        case concern = "safety-concern"
        case crisis = "safety-crisis"
        case guidanceSuicide = "guidance-suicide"
        case guidanceSelfHarm = "guidance-self-harm"
        case guidanceAbuse = "guidance-abuse"
        case guidanceViolence = "guidance-violence"
        case guidanceEatingDisorder = "guidance-eating-disorder"
        case guidancePsychosis = "guidance-psychosis"
        case guidanceSubstance = "guidance-substance"
        case guidanceOther = "guidance-other"

        var file: String { "\(rawValue).md" }

        var placeholders: Set<String> {
            switch self {
            case .domain: ["name", "tone", "methodology", "guidance", "boundaries"]
            case .persona: ["name", "tone", "methodology", "personality"]
            case .context: ["values", "goals", "situation"]
            case .summary: ["summary"]
            case .crisis: ["guidance", "resources"]
            default: []
            }
        }
    }

    private var templates: [Name: PromptTemplate]

    /// Reads all files by name (`system.md`, …). Throws everything that is wrong at once: a file that is missing or unknown, empty or not
    /// UTF-8, a place that is unknown or missing.
    public init(files: [String: Data]) throws(ConfigurationRejected) {
        let collector = FindingCollector()
        let known = Set(Name.allCases.map(\.file))
        for file in files.keys.sorted() where !known.contains(file) { collector.add(file, "", .unknown) }
        var templates: [Name: PromptTemplate] = [:]
        for name in Name.allCases {
            guard let bytes = files[name.file] else {
                collector.add(name.file, "", .missing)
                continue
            }
            guard let text = String(validating: bytes, as: UTF8.self) else {
                collector.add(name.file, "", .unreadable("not UTF-8"))
                continue
            }
            if !text.contains(where: { !$0.isWhitespace }) { collector.add(name.file, "", .outOfBounds("blank")) }
            let template = PromptTemplate(text)
            let found = Set(template.placeholders)
            for place in found.subtracting(name.placeholders).sorted() { collector.add(name.file, "{{\(place)}}", .unknown) }
            for place in name.placeholders.subtracting(found).sorted() { collector.add(name.file, "{{\(place)}}", .missing) }
            templates[name] = template
        }
        try collector.rejectIfAny()
        self.templates = templates
    }

    func filled(_ name: Name, _ values: [String: String] = [:]) -> String { templates[name]?.filled(values) ?? "" }
}
