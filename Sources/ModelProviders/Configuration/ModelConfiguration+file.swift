import CoachCore
import JSON

extension ModelConfiguration {
    /// Reads `deploy/models.json`. `findings` has a line for each error, and is empty exactly when there is a configuration.
    ///
    /// A provider can be used when its address is known and its variables are set in the environment. The variable of `api_key_env` may be missing when the
    /// variable of `base_url_env` overrides the address. With `require_zero_retention`, only providers that state it can be used. Other choices are left
    /// out, and a route without a choice is a finding. A provider marked `stand_in` is used only in routes in which no other one can be used. Client
    /// certificates and keys are read from their files.
    public static func read(
        _ file: some Sequence<UInt8>, environment: [String: String]
    ) -> (configuration: ModelConfiguration?, findings: [String]) {
        var reader = ModelFileReader(environment: environment.filter { !ProviderKeys.trimmed($0.value).isEmpty })
        let (read, findings) = JSONReader.collect(Array(file)) { (root) throws(JSONFinding) in try reader.configuration(root) }
        let all = reader.environmentFindings + findings.map { "models: \($0)" }
        return (all.isEmpty ? read ?? nil : nil, all)
    }
}

private struct ModelFileReader {
    let environment: [String: String]
    /// Findings in variables of the environment, which have no path in the file.
    private(set) var environmentFindings: [String] = []
    private var warnings: [String] = []

    init(environment: [String: String]) { self.environment = environment }

    /// nil with a finding when there is no default route.
    mutating func configuration(_ root: JSONReader) throws(JSONFinding) -> ModelConfiguration? {
        let providers = try root.object("providers")
        var entries: [String: ProviderEntry] = [:]
        let requiresZeroRetention = try root.optional("require_zero_retention") ?? false
        for name in providers.names { entries[name] = try provider(name, try providers.object(name), requiresZeroRetention) }
        if requiresZeroRetention {
            for (name, entry) in entries where entry.provider?.hasZeroRetention == false {
                entries[name]?.isUsable = false
                entries[name]?.remedy = "models: providers.\(name).zero_retention"
            }
        }
        let limits = try root.optional("limits", .object(CallLimits.init)) ?? CallLimits()
        let routeObject = try root.object("routes")
        var routes: [String: Route] = [:]
        for name in routeObject.names {
            if RouteKey(name) == nil {
                try routeObject.report(name, .invalid("must be default, judge, tier.NAME, domain.NAME or persona.ID"))
            }
            routes[name] = try route(name, of: routeObject, entries)
        }
        let hedged: [String] = try root.optional("hedged_routes") ?? []
        for name in hedged {
            if !routeObject.contains(name) { try root.report("hedged_routes", .invalid("must be of the routes, not \(name)")) }
            routes[name]?.isHedged = true
        }
        if !routeObject.contains("default") { try routeObject.report("default", .missing) }
        let judge = root.contains("judge") ? try judgeSettings(root.object("judge"), routes) : nil
        try root.rejectUnknown(besides: ["note"])
        guard let defaultRoute = routes["default"] else { return nil }
        let usable = entries.compactMapValues { $0.isUsable ? $0.provider : nil }
        return ModelConfiguration(
            providers: usable, defaultRoute: defaultRoute, routes: routes, limits: limits, judge: judge, warnings: warnings)
    }

    /// How long a first token may wait for the judge, in milliseconds.
    private static let longestJudgement = 600

    /// nil with a finding when its route is none of the file's.
    private func judgeSettings(_ json: JSONReader, _ routes: [String: Route]) throws(JSONFinding) -> JudgeSettings? {
        let name = try json.required("route", .text(1...200))
        let lowestScore = try json.required("lowest_score", .number(0...1))
        let milliseconds = try json.optional("time_limit_ms", .integer(1...Self.longestJudgement)) ?? Self.longestJudgement
        try json.rejectUnknown(besides: ["note"])
        guard let route = routes[name] else {
            try json.report("route", .invalid("must be one of the routes"))
            return nil
        }
        return JudgeSettings(route: route, lowestScore: Float(lowestScore), timeLimit: .milliseconds(milliseconds))
    }

    private mutating func provider(
        _ name: String, _ json: JSONReader, _ requiresZeroRetention: Bool
    ) throws(JSONFinding) -> ProviderEntry {
        var reader = ProviderReader(json, environment: environment, requiresZeroRetention: requiresZeroRetention)
        let entry = try reader.provider(name)
        environmentFindings += reader.environmentFindings
        if let warning = reader.warning { warnings.append(warning) }
        return entry
    }

    /// nil with a finding when the route has an error or no provider that can be used.
    private func route(
        _ name: String, of routes: JSONReader, _ entries: [String: ProviderEntry]
    ) throws(JSONFinding) -> Route? {
        var choices: [(choice: ModelChoice, entry: ProviderEntry)] = []
        var isSound = true
        for element in try routes.elements(name, 1...100) {
            let choice = try choice(element, entries)
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

    /// Members of requests that a choice states for its model, and that another model may refuse.
    private static let ofOneModel: Set<String> = ["reasoning_effort"]

    private func choice(_ json: JSONReader, _ entries: [String: ProviderEntry]) throws(JSONFinding) -> ModelChoice {
        let provider = try json.required("provider", .text(1...200))
        let model = try json.required("model", .text(1...200))
        let modelVariable = try json.optional("model_env", .variable(of: environment))
        let overridingModel = modelVariable.flatMap { environment[$0] }.map(ProviderKeys.trimmed)
        let format = entries[provider]?.dialect.format
        let parameters = try entries[provider]?.dialect.parameters(json) ?? []
        var choice = ModelChoice(
            name: ModelName(provider: provider, model: overridingModel ?? model),
            maximumOutputTokens: try json.optional("max_output_tokens", .integer(1...1_000_000)) ?? TokenEstimate.longestAnswer,
            temperature: try json.optional("temperature", .number(0...2)),
            options: try format?.options(json) ?? [:], parameters: parameters, weight: try json.optional("weight", .integer(1...1_000_000)),
            wantsLeastLatency: try json.optional("least_latency") ?? false)
        if choice.name.model != model {
            choice.temperature = nil
            choice.options = format?.options(choice.options, forOtherModel: choice.name.model) ?? [:]
            choice.parameters.removeAll { Self.ofOneModel.contains($0.key) }
        }
        if choice.wantsLeastLatency, choice.weight != nil { try json.report("weight", .invalid("must not stand beside least_latency")) }
        // An unknown dialect has members that are not known here.
        if format != nil { try json.rejectUnknown(besides: ["note"]) }
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
