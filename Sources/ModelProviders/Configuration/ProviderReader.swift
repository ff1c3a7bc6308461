import JSON
import TokenRelay

/// A provider as the file and the environment describe it. Not every one can be called.
struct ProviderEntry {
    /// nil when the address is not known, or when the entry has a finding.
    var provider: Provider?
    var dialect: Dialect
    var isStandIn: Bool
    /// Whether it can be called with the values of the environment.
    var isUsable: Bool
    /// The setting that is missing for that.
    var remedy: String
}

/// Reads one provider of the file.
struct ProviderReader {
    private let json: JSONReader
    private let environment: [String: String]
    private let requiresZeroRetention: Bool
    /// Findings in variables of the environment, which have no path in the file.
    private(set) var environmentFindings: [String] = []
    /// Why the provider is not used although its entry is valid.
    private(set) var warning: String?

    /// - Parameter environment: without empty values.
    init(_ json: JSONReader, environment: [String: String], requiresZeroRetention: Bool) {
        self.json = json
        self.environment = environment
        self.requiresZeroRetention = requiresZeroRetention
    }

    mutating func provider(_ name: String) throws(JSONFinding) -> ProviderEntry {
        let dialect = try json.required("dialect", .dialect)
        let ownURL = try json.optional("base_url", .text(1...2_000))
        let urlVariable = try json.optional("base_url_env", .variable(of: environment))
        let keyVariable = try json.optional("api_key_env", .variable(of: environment))
        let keyFile = try json.optional("api_key_file", .text(1...4_000))
        let keyHeader = try json.optional("api_key_header", .text(1...200))
        let hasZeroRetention = try json.optional("zero_retention") ?? false
        let authorityFile = try json.optional("ca_file", .text(1...4_000))
        let isStandIn = try json.optional("stand_in") ?? false
        let headers = try fields("headers")
        let query = try fields("query")
        let settings = try settings(of: dialect)
        let parameters = try dialect.parameters(json)
        let needs = try needs()
        try json.rejectUnknown(besides: ["note"])
        if let keyHeader, HeaderName.isReserved(keyHeader) {
            try json.report("api_key_header", .invalid("must be a field that may be set"))
        }
        for header in headers { try check(header) }
        if requiresZeroRetention, hasZeroRetention, dialect.format.needsStatedOptOut, !json.contains("parameters") {
            try json.report(
                "parameters", .invalid("must have what tells this server not to keep prompts, or be {} when it knows no such member"))
        }

        let isOverridden = urlVariable.flatMap { environment[$0] } != nil
        let baseURL = try address(ownURL, overriddenBy: urlVariable, path: dialect.format.basePath)
        let served = if isOverridden, ownURL != nil, let baseURL { dialect.ofServer(at: baseURL) } else { dialect }
        let isReplaced = served != dialect
        var provider: Provider?
        if json.isSound, let baseURL {
            provider = Provider(name: name, dialect: served, baseURL: baseURL, keyVariable: keyVariable, authorityFile: authorityFile)
        }
        provider?.keyFile = keyFile
        provider?.hasZeroRetention = hasZeroRetention
        provider?.settings = settings
        provider?.keyHeader = keyHeader.map { .field($0) }
        provider?.headers = headers
        provider?.parameters = parameters
        // A proxy in front of OpenAI must not keep prompts where OpenAI does not.
        if isReplaced, !parameters.contains(where: { $0.key == "store" }) { provider?.parameters.append(JSONMember("store", .bool(false))) }
        provider?.query = query
        let variables = provider?.variables ?? []
        var missing = missingVariable(variables, key: keyVariable, optional: isOverridden || keyFile != nil ? keyVariable : nil)
        let foundKeys = keys(file: keyFile, variable: keyVariable)
        if foundKeys == nil, let keyFile {
            missing = missing ?? keyFile
            warning = "models: \(json.path).api_key_file: \(keyFile) cannot be read, or has no key that can be sent, so it is not used"
        }
        if let source = keyFile ?? keyVariable, let foundKeys, !foundKeys.allSatisfy({ dialect.format.isKey($0) }) {
            environmentFindings.append("\(source): has a key that is of no form of \(dialect.name)")
        }
        let isUsable = provider != nil && missing == nil
        if isUsable, let baseURL {
            provider?.route = try route(to: baseURL, needs)
            if baseURL.lowercased().hasPrefix("https:") { try checkAuthorities("ca_file", authorityFile) }
            try checkAuthorities("proxy_ca_file", needs.proxyAuthorityFile)
        }
        return ProviderEntry(
            provider: provider, dialect: served, isStandIn: isStandIn, isUsable: isUsable,
            remedy: (provider == nil ? urlVariable : missing) ?? "models: \(json.path).base_url")
    }

    /// The address to call: that of the variable if it is set, else the provider's own. nil when there is none, and with a finding when it is of no use.
    private mutating func address(_ own: String?, overriddenBy variable: String?, path: String) throws(JSONFinding) -> String? {
        let overriding = variable.flatMap { environment[$0] }
        guard let text = overriding ?? own else { return nil }
        if let url = BaseURL.normalized(ProviderKeys.trimmed(text), path: path) { return url }
        if let variable, overriding != nil {
            environmentFindings.append("\(variable): not an http or https address")
        } else {
            try json.report("base_url", .invalid("must be an http or https address"))
        }
        return nil
    }

    /// The keys of the file; without a file, those of the variable. nil when the file is of no use.
    private func keys(file: String?, variable: String?) -> [String]? {
        if let file { return KeyFile.read(file) }
        return variable.flatMap { environment[$0] }.map { ProviderKeys.split($0) } ?? []
    }

    /// The first required variable that is not set. Checks the values of the others; that of the key may be several keys.
    private mutating func missingVariable(_ variables: [String], key: String?, optional: String?) -> String? {
        var missing: String?
        for variable in variables {
            let values = environment[variable].map { variable == key ? ProviderKeys.split($0) : [ProviderKeys.trimmed($0)] } ?? []
            if !values.allSatisfy({ $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } }) {
                environmentFindings.append("\(variable): contains a character that cannot stand in a header")
            }
            if values.isEmpty, variable != optional { missing = missing ?? variable }
        }
        return missing
    }

    private mutating func route(to url: String, _ needs: TransferNeeds) throws(JSONFinding) -> TransferRoute {
        do throws(UnusableRoute) {
            return try TransferRoute.decide(for: url, needs, environment: environment)
        } catch {
            environmentFindings.append("models: \(json.path): \(error)")
            return .direct
        }
    }
}

// MARK: - Members

extension ProviderReader {
    /// The objects `name` (constants) and `name_env` (names of variables).
    private func fields(_ name: String) throws(JSONFinding) -> [Provider.Field] {
        var fields: [Provider.Field] = []
        for (member, isVariable) in [(name, false), ("\(name)_env", true)] where json.contains(member) {
            let object = try json.object(member)
            let value: JSONField<String> = isVariable ? .variable(of: environment) : .text(1...4_000)
            for field in object.names {
                let text = try object.required(field, value)
                if fields.contains(where: { $0.name.lowercased() == field.lowercased() }) {
                    try object.report(field, .invalid("is set twice"))
                }
                fields.append(Provider.Field(field, isVariable ? .variable(text) : .constant(text)))
            }
        }
        return fields
    }

    /// The dialect's own members: `NAME`, or the variable that `NAME_env` names. A required setting has one of them.
    private func settings(of dialect: Dialect) throws(JSONFinding) -> [Provider.Field] {
        var fields: [Provider.Field] = []
        for setting in dialect.format.settings {
            let variable = try json.optional("\(setting.name)_env", .variable(of: environment))
            let constant = setting.isSecret ? nil : try json.optional(setting.name, .text(1...200))
            if let variable {
                fields.append(Provider.Field(setting.name, .variable(variable)))
            } else if let constant {
                fields.append(Provider.Field(setting.name, .constant(constant)))
            } else if setting.isRequired {
                try json.report(setting.name, .missing)
            }
        }
        return fields
    }

    private func check(_ header: Provider.Field) throws(JSONFinding) {
        if HeaderName.isReserved(header.name) { try json.report("headers", .invalid("must not set \(header.name)")) }
        if case .constant(let value) = header.value, !value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) {
            try json.report("headers", .invalid("must have printable ASCII values: \(header.name)"))
        }
    }

    private func needs() throws(JSONFinding) -> TransferNeeds {
        var needs = TransferNeeds()
        needs.proxy = try proxySetting()
        needs.proxyAuthentication = try json.optional("proxy_auth", .choice) ?? .basic
        needs.proxyAuthorityFile = try json.optional("proxy_ca_file", .text(1...4_000))
        needs.version = try json.optional("http_version", .choice) ?? .http1
        let chain = try json.optional("client_certificate", .text(1...4_000))
        let key = try json.optional("client_key", .text(1...4_000))
        switch (chain, key) {
        case (nil, nil): break
        case (let chain?, let key?): needs.certificate = try certificate(chain, key)
        case (.some, nil): try json.report("client_key", .missing)
        case (nil, .some): try json.report("client_certificate", .missing)
        }
        return needs
    }

    private func certificate(_ chain: String, _ key: String) throws(JSONFinding) -> TransferCertificate? {
        let defect: UnusableRoute
        do throws(UnusableRoute) { return try TransferCertificate(chainFile: chain, keyFile: key) } catch { defect = error }
        try json.report("client_certificate", .invalid("cannot be used: \(defect)"))
        return nil
    }

    /// Without a usable file no request would ever be sent.
    private func checkAuthorities(_ member: String, _ file: String?) throws(JSONFinding) {
        guard let file else { return }
        do throws(UnusableRoute) {
            try AuthorityFile.check(file)
        } catch {
            try json.report(member, .invalid("cannot be used: \(error)"))
        }
    }

    /// The variable that `proxy_env` names wins over `proxy`, and both over the environment's own variables.
    private func proxySetting() throws(JSONFinding) -> TransferNeeds.ProxySetting {
        let own = try json.optional("proxy", .text(1...2_000))
        let variable = try json.optional("proxy_env", .variable(of: environment))
        if own?.contains("@") == true { try json.report("proxy", .invalid("must not hold credentials: set proxy_env")) }
        guard let text = variable.flatMap({ environment[$0] }).map(ProviderKeys.trimmed) ?? own else { return .environment }
        return text == "none" ? .none : .url(text)
    }
}

extension Dialect {
    /// Further members of requests' bodies, in an entry of a provider or of a model.
    func parameters(_ json: JSONReader) throws(JSONFinding) -> [JSONMember] {
        let parameters = json.contains("parameters") ? try json.object("parameters").value.members ?? [] : []
        for parameter in parameters where format.reserved.contains(parameter.key) {
            if parameter.value == .null, format.omittable.contains(parameter.key) { continue }
            try json.report("parameters", .invalid("must not set \(parameter.key)"))
        }
        return parameters
    }
}

/// Names of header fields that a configuration may set.
enum HeaderName {
    /// Whether a field is no token (RFC 9110 §5.6.2), or is set by the client itself.
    static func isReserved(_ name: String) -> Bool {
        TransferHeader(name, "value").isMalformed || own.contains(name.lowercased())
    }

    private static let own: Set<String> = [
        "accept", "connection", "content-length", "content-type", "expect", "host", "keep-alive", "proxy-authorization", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]
}

extension JSONField<String> {
    /// The name of an environment variable: of one that is set, or as POSIX has them. A finding about a variable that is not set has its name, so a key
    /// in its place is rejected here.
    static func variable(of environment: [String: String]) -> Self {
        .parsed("the name of an environment variable", placeholder: "") {
            environment[$0] != nil || $0.wholeMatch(of: /[A-Za-z_][A-Za-z0-9_]{0,199}/) != nil ? $0 : nil
        }
    }
}

extension JSONField<Dialect> {
    fileprivate static var dialect: Self {
        .parsed(Dialect.all.map(\.name).joined(separator: " or "), placeholder: Dialect.all[0]) { Dialect.named($0) }
    }
}
