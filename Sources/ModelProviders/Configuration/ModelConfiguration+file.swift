import CoachCore
import JSON

extension ModelConfiguration {
    /// Reads `deploy/models.json`. `findings` has a line for each error, and is empty exactly when there is a configuration.
    ///
    /// The environment decides which providers can be used: one with `api_key_env` when that variable is set, or when its address was
    /// overridden by the variable that `base_url_env` names; one without when its address is known. A provider marked `stand_in` is used
    /// only in routes where no other one can be. Unusable choices are left out; a route of which none is left is a finding.
    public static func read(
        _ file: some Sequence<UInt8>, environment: [String: String]
    ) -> (configuration: ModelConfiguration?, findings: [String]) {
        var reader = ModelFileReader(environment: environment.filter { !ProviderKeys.trimmed($0.value).isEmpty })
        let (read, findings) = JSONReader.collect(Array(file)) { (root) throws(JSONFinding) in try reader.configuration(root) }
        let all = reader.environmentFindings + findings.map { "models: \($0)" }
        return (all.isEmpty ? read ?? nil : nil, all)
    }
}

/// A provider as the file and the environment describe it, usable or not.
private struct ProviderEntry {
    /// nil when its address is not known, or when the entry has a finding.
    var provider: Provider?
    var isStandIn: Bool
    /// Whether it can be called with the values of the environment.
    var isUsable: Bool
    /// The setting that would make it usable.
    var remedy: String
}

private struct ModelFileReader {
    let environment: [String: String]
    /// Findings in variables of the environment, which have no path in the file.
    private(set) var environmentFindings: [String] = []

    init(environment: [String: String]) { self.environment = environment }

    /// nil with a finding when there is no default route.
    mutating func configuration(_ root: JSONReader) throws(JSONFinding) -> ModelConfiguration? {
        let providers = try root.object("providers")
        var entries: [String: ProviderEntry] = [:]
        for name in providers.names { entries[name] = try provider(name, try providers.object(name)) }
        let limits = try root.optional("limits", .object(CallLimits.init)) ?? CallLimits()
        let routeObject = try root.object("routes")
        var routes: [String: Route] = [:]
        for name in routeObject.names { routes[name] = try route(name, of: routeObject, entries) }
        if !routeObject.contains("default") { try routeObject.report("default", .missing) }
        try root.rejectUnknown(besides: ["note"])
        guard let defaultRoute = routes["default"] else { return nil }
        let usable = entries.compactMapValues { $0.isUsable ? $0.provider : nil }
        return ModelConfiguration(providers: usable, defaultRoute: defaultRoute, routes: routes, limits: limits)
    }

    private mutating func provider(_ name: String, _ json: JSONReader) throws(JSONFinding) -> ProviderEntry {
        let dialect: Dialect = try json.required("dialect", .choice)
        let ownURL = try json.optional("base_url", .text(1...2_000))
        let urlVariable = try json.optional("base_url_env", .text(1...200))
        let keyVariable = try json.optional("api_key_env", .text(1...200))
        let authorityFile = try json.optional("ca_file", .text(1...4_000))
        let isStandIn = try json.optional("stand_in") ?? false
        try json.rejectUnknown(besides: ["note"])

        let overridingURL = urlVariable.flatMap { environment[$0] }
        let baseURL = (overridingURL ?? ownURL).flatMap { BaseURL.normalized(ProviderKeys.trimmed($0)) }
        if baseURL == nil, let urlVariable, overridingURL != nil {
            environmentFindings.append("\(urlVariable): not an http or https address")
        } else if baseURL == nil, ownURL != nil {
            try json.report("base_url", .invalid("must be an http or https address"))
        }
        let key = keyVariable.flatMap { environment[$0] }.map(ProviderKeys.trimmed)
        if let keyVariable, let key, !key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
            environmentFindings.append("\(keyVariable): contains a character that cannot stand in a header")
        }
        let hasKey = keyVariable == nil || key != nil || overridingURL != nil
        var provider: Provider?
        if json.isSound, let baseURL {
            provider = Provider(name: name, dialect: dialect, baseURL: baseURL, keyVariable: keyVariable, authorityFile: authorityFile)
        }
        return ProviderEntry(
            provider: provider, isStandIn: isStandIn, isUsable: provider != nil && hasKey,
            remedy: (provider == nil ? urlVariable : keyVariable) ?? "models: \(json.path).base_url")
    }

    /// nil with a finding when the route has an error or no provider that can be used.
    private func route(
        _ name: String, of routes: JSONReader, _ entries: [String: ProviderEntry]
    ) throws(JSONFinding) -> Route? {
        var choices: [(choice: ModelChoice, entry: ProviderEntry)] = []
        var isSound = true
        for element in try routes.elements(name, 1...100) {
            let choice = try choice(element)
            if element.isSound, let entry = entries[choice.name.provider] {
                choices.append((choice, entry))
                continue
            }
            if element.isSound { try element.report("provider", .invalid("must be one of the providers, not \(choice.name.provider)")) }
            isSound = false
        }
        guard isSound, !choices.isEmpty else { return nil }
        var usable = choices.filter { $0.entry.isUsable && !$0.entry.isStandIn }
        if usable.isEmpty { usable = choices.filter(\.entry.isUsable) }
        guard let first = usable.first else {
            let remedies = choices.map(\.entry.remedy).joined(separator: " or ")
            try routes.report(name, .invalid("has no provider that can be used; set \(remedies)"))
            return nil
        }
        return Route(first.choice, usable.dropFirst().map(\.choice))
    }

    private func choice(_ json: JSONReader) throws(JSONFinding) -> ModelChoice {
        let provider = try json.required("provider", .text(1...200))
        let model = try json.required("model", .text(1...200))
        let overridingModel = try json.optional("model_env", .text(1...200)).flatMap { environment[$0] }.map(ProviderKeys.trimmed)
        let choice = ModelChoice(
            name: ModelName(provider: provider, model: overridingModel ?? model),
            maximumOutputTokens: try json.required("max_output_tokens", .integer(1...1_000_000)),
            temperature: try json.optional("temperature", .number(0...2)),
            tokenLimitField: try json.optional("token_limit_field", .choice) ?? .maxCompletionTokens)
        try json.rejectUnknown(besides: ["note"])
        return choice
    }
}

extension CallLimits {
    fileprivate init(_ json: JSONReader) throws(JSONFinding) {
        self.init()
        let durations: [(String, WritableKeyPath<CallLimits, Duration>)] = [
            ("connect_ms", \.connect), ("first_token_ms", \.firstToken), ("first_token_overall_ms", \.firstTokenOverall),
            ("silence_ms", \.silence), ("turn_ms", \.turn), ("refusal_ms", \.refusal), ("retry_pause_ms", \.retryPause),
            ("refusal_body_ms", \.refusalBody),
        ]
        for (name, path) in durations {
            if let milliseconds = try json.optional(name, .integer(1...3_600_000)) { self[keyPath: path] = .milliseconds(milliseconds) }
        }
        answerBytes = try json.optional("answer_bytes", .integer(1...(16 << 20))) ?? answerBytes
        try json.rejectUnknown(besides: ["note"])
    }
}
