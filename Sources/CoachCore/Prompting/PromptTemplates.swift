import JSON

/// The validated templates of `prompts/`.
public struct PromptTemplates: Sendable, Equatable {
    /// A file of `prompts/`.
    enum Name: String, CaseIterable, Sendable {
        case system
        case domain
        case genericDomain = "generic-domain"
        case safety
        case persona
        case context
        case summary
        case minor
        case judge
        case opening
        case summaryRequest = "summary-request"
        case client
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
        case guidanceEarlier = "guidance-earlier"

        var file: String { "\(rawValue).md" }

        /// The placeholders that the file must have, each at least once. Others are findings.
        var placeholders: Set<String> {
            switch self {
            case .domain: ["name", "tone", "methodology", "guidance", "boundaries"]
            case .persona: ["name", "tone", "methodology", "personality"]
            case .context: ["values", "goals", "situation"]
            case .summary: ["summary"]
            case .client: ["texts"]
            case .crisis: ["guidance", "resources"]
            case .opening: ["opening"]
            default: []
            }
        }
    }

    private var templates: [Name: PromptTemplate]

    /// Parses and validates all files, keyed by name (`system.md`, …). The error has all findings: missing, unknown, blank or non-UTF-8
    /// files, and missing or unknown placeholders.
    public init(files: [String: [UInt8]]) throws(ConfigurationRejected) {
        var findings: [ConfigurationFinding] = []
        func report(_ file: String, _ path: String, _ problem: JSONFinding.Problem) {
            findings.append(ConfigurationFinding(file, path, problem))
        }
        let known = Set(Name.allCases.map(\.file))
        for file in files.keys.sorted() where !known.contains(file) { report(file, "", .unknown) }
        var templates: [Name: PromptTemplate] = [:]
        for name in Name.allCases {
            guard let bytes = files[name.file] else {
                report(name.file, "", .missing)
                continue
            }
            let template: PromptTemplate
            do throws(ConfigurationRejected) {
                template = PromptTemplate(try ConfigurationRejected.text(bytes, file: name.file))
            } catch {
                findings += error.findings
                continue
            }
            if template.isUnclosed { report(name.file, "", .invalid("has a {{ without }}")) }
            let found = Set(template.placeholders)
            for placeholder in found.subtracting(name.placeholders).sorted() { report(name.file, "{{\(placeholder)}}", .unknown) }
            for placeholder in name.placeholders.subtracting(found).sorted() { report(name.file, "{{\(placeholder)}}", .missing) }
            templates[name] = template
        }
        guard findings.isEmpty else { throw ConfigurationRejected(findings: findings) }
        self.templates = templates
    }

    func filled(_ name: Name, _ values: [String: String] = [:]) -> String { templates[name]?.filled(values) ?? "" }
}
