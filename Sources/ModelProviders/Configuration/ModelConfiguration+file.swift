import CoachCore
import JSON

extension ModelConfiguration {
    /// Reads `deploy/models.json`. `findings` has a line for everything that is wrong, and is empty exactly when there is a configuration.
    ///
    /// The environment decides which providers can be used: one with `api_key_env` when that variable is set, or when its address was
    /// overridden by the variable that `base_url_env` names; one without when its address is known. A provider marked `stand_in` is used
    /// only in routes where no other one can be. Unusable choices are left out; a route of which none is left is a finding.
    public static func read(
        _ file: some Sequence<UInt8>, environment: [String: String]
    ) -> (configuration: ModelConfiguration?, findings: [String]) {
        let bytes = Array(file)
        let root: JSONValue
        do throws(JSONError) {
            root = try JSONValue(parsing: bytes)
        } catch {
            return (nil, ["models: \(error.text(in: bytes))"])
        }
        guard root.members != nil else { return (nil, ["models: not a JSON object"]) }
        var reader = ModelFileReader(environment: environment.filter { !ProviderKeys.trimmed($0.value).isEmpty })
        let configuration = reader.configuration(root)
        return (reader.findings.isEmpty ? configuration : nil, reader.findings)
    }
}

/// A provider as the file and the environment describe it, usable or not.
private struct ProviderEntry {
    /// nil: its address is not known.
    var provider: Provider?
    var isStandIn: Bool
    /// It can be asked with what the environment has.
    var isUsable: Bool
    /// What to set to make it usable.
    var remedy: String
}

private struct ModelFileReader {
    let environment: [String: String]
    private(set) var findings: [String] = []

    init(environment: [String: String]) { self.environment = environment }

    mutating func configuration(_ root: JSONValue) -> ModelConfiguration? {
        var fields = FieldReader(root, "models")
        var entries: [String: ProviderEntry] = [:]
        for member in fields.object("providers")?.members ?? [] { entries[member.key] = provider(member) }
        let limits = fields.object("limits", isRequired: false).map { self.limits($0) } ?? CallLimits()
        var routes: [String: Route] = [:]
        for member in fields.object("routes")?.members ?? [] { routes[member.key] = route(member, entries) }
        if fields.value("routes") != nil, fields.value("routes")?["default"] == nil {
            findings.append("models: routes: default is missing")
        }
        fields.expectNothingElse(but: ["note"])
        findings = fields.findings + findings
        guard let defaultRoute = routes["default"] else { return nil }
        let usable = entries.compactMapValues { $0.isUsable ? $0.provider : nil }
        return ModelConfiguration(providers: usable, defaultRoute: defaultRoute, routes: routes, limits: limits)
    }

    private mutating func provider(_ member: JSONMember) -> ProviderEntry {
        let place = "models: providers.\(member.key)"
        var fields = FieldReader(member.value, place)
        let dialect = fields.choice("dialect", Dialect.self)
        let ownURL = fields.text("base_url", isRequired: false)
        let urlVariable = fields.text("base_url_env", isRequired: false)
        let keyVariable = fields.text("api_key_env", isRequired: false)
        let authorityFile = fields.text("ca_file", isRequired: false)
        let isStandIn = fields.bool("stand_in") ?? false
        fields.expectNothingElse(but: ["note"])
        findings += fields.findings

        let overridingURL = urlVariable.flatMap { environment[$0] }
        let baseURL = (overridingURL ?? ownURL).flatMap { url in
            let address = BaseURL.normalized(ProviderKeys.trimmed(url))
            if address == nil {
                findings.append("\(overridingURL == nil ? "\(place): base_url" : urlVariable ?? place): not an http or https address")
            }
            return address
        }
        let key = keyVariable.flatMap { environment[$0] }.map(ProviderKeys.trimmed)
        if let keyVariable, let key, !key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
            findings.append("\(keyVariable): contains a character that cannot stand in a header")
        }
        let hasKey = keyVariable == nil || key != nil || overridingURL != nil
        let provider = dialect.flatMap { dialect in
            baseURL.map {
                Provider(name: member.key, dialect: dialect, baseURL: $0, keyVariable: keyVariable, authorityFile: authorityFile)
            }
        }
        return ProviderEntry(
            provider: provider, isStandIn: isStandIn, isUsable: provider != nil && hasKey,
            remedy: (provider == nil ? urlVariable : keyVariable) ?? "\(place).base_url")
    }

    private mutating func route(_ member: JSONMember, _ entries: [String: ProviderEntry]) -> Route? {
        let place = "models: routes.\(member.key)"
        guard let elements = member.value.elements, !elements.isEmpty else {
            findings.append("\(place): must be a list of models")
            return nil
        }
        let before = findings.count
        var choices: [(choice: ModelChoice, entry: ProviderEntry)] = []
        for (index, element) in elements.enumerated() {
            guard let choice = choice(element, "\(place)[\(index)]") else { continue }
            guard let entry = entries[choice.name.provider] else {
                findings.append("\(place)[\(index)]: no provider is called \(choice.name.provider)")
                continue
            }
            choices.append((choice, entry))
        }
        guard findings.count == before else { return nil }
        var usable = choices.filter { $0.entry.isUsable && !$0.entry.isStandIn }
        if usable.isEmpty { usable = choices.filter(\.entry.isUsable) }
        guard let first = usable.first else {
            let remedies = choices.map(\.entry.remedy).joined(separator: " or ")
            findings.append("\(place): no provider can be used; set \(remedies)")
            return nil
        }
        return Route(first.choice, usable.dropFirst().map(\.choice))
    }

    private mutating func choice(_ value: JSONValue, _ place: String) -> ModelChoice? {
        var fields = FieldReader(value, place)
        let provider = fields.text("provider")
        let model = fields.text("model")
        let overridingModel = fields.text("model_env", isRequired: false).flatMap { environment[$0] }.map(ProviderKeys.trimmed)
        let tokens = fields.integer("max_output_tokens", in: 1...1_000_000)
        let temperature = fields.number("temperature", in: 0...2)
        let field =
            fields.value("token_limit_field") == nil
            ? .maxCompletionTokens : fields.choice("token_limit_field", ModelChoice.TokenLimitField.self)
        fields.expectNothingElse(but: ["note"])
        findings += fields.findings
        guard fields.findings.isEmpty, let provider, let model, let tokens, let field else { return nil }
        return ModelChoice(
            name: ModelName(provider: provider, model: overridingModel ?? model), maximumOutputTokens: tokens, temperature: temperature,
            tokenLimitField: field)
    }

    private mutating func limits(_ value: JSONValue) -> CallLimits {
        var limits = CallLimits()
        var fields = FieldReader(value, "models: limits")
        let durations: [(String, WritableKeyPath<CallLimits, Duration>)] = [
            ("connect_ms", \.connect), ("first_token_ms", \.firstToken), ("first_token_overall_ms", \.firstTokenOverall),
            ("silence_ms", \.silence), ("turn_ms", \.turn), ("refusal_ms", \.refusal), ("retry_pause_ms", \.retryPause),
            ("refusal_body_ms", \.refusalBody),
        ]
        for (name, path) in durations where fields.value(name) != nil {
            if let milliseconds = fields.integer(name, in: 1...3_600_000) { limits[keyPath: path] = .milliseconds(milliseconds) }
        }
        if fields.value("answer_bytes") != nil, let bytes = fields.integer("answer_bytes", in: 1...(16 << 20)) {
            limits.answerBytes = bytes
        }
        fields.expectNothingElse(but: ["note"])
        findings += fields.findings
        return limits
    }
}
