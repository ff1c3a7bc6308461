import JSON
import TokenRelay

/// A service that runs models.
public struct Provider: Sendable, Equatable {
    /// How a request carries the key.
    public enum KeyHeader: Sendable, Equatable {
        /// `Authorization: Bearer KEY`.
        case bearer
        /// The key alone in this field, such as `api-key`.
        case field(String)
    }

    /// A header field or query parameter of each request.
    public struct Field: Sendable, Equatable {
        public enum Value: Sendable, Equatable {
            case constant(String)
            /// What an environment variable holds.
            case variable(String)
        }

        public var name: String
        public var value: Value

        public init(_ name: String, _ value: Value) {
            self.name = name
            self.value = value
        }
    }

    /// The name in routes and prices.
    public var name: String
    public var dialect: Dialect
    /// Without a slash at its end; the dialect appends its path.
    public var baseURL: String
    /// The environment variable with the key, or with several separated by commas; nil: no key is sent, unless a dialect has its own settings for it.
    public var keyVariable: String?
    /// A file of keys, one a line, in place of the variable; read again when it changes.
    public var keyFile: String?
    /// nil: that of the dialect.
    public var keyHeader: KeyHeader?
    /// Settings that only this dialect has.
    public var settings: [Field] = []
    /// Whether the provider keeps neither prompts nor answers, by contract.
    public var hasZeroRetention = false
    public var headers: [Field] = []
    /// Further members of each request's body. Those of a model replace them.
    public var parameters: [JSONMember] = []
    public var query: [Field] = []
    /// PEM file of the only authorities to trust; nil: those of the system.
    public var authorityFile: String?
    /// Which driver carries the requests.
    public var route = TransferRoute.direct

    public init(name: String, dialect: Dialect, baseURL: String, keyVariable: String? = nil, authorityFile: String? = nil) {
        self.name = name
        self.dialect = dialect
        self.baseURL = baseURL
        self.keyVariable = keyVariable
        self.authorityFile = authorityFile
    }

    /// The environment variables whose values requests carry.
    var variables: [String] {
        (headers + query + settings).compactMap { if case .variable(let name) = $0.value { name } else { nil } }
            + (keyVariable.map { [$0] } ?? [])
    }
}

extension Provider {
    /// The address of a path below the base address, with the query.
    func url(_ path: String, _ own: [(name: String, value: String)], _ keys: ProviderKeys) -> String {
        let configured = query.compactMap { field in keys.value(of: field).map { (name: field.name, value: $0) } }
        let parameters = (own + configured).map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
        return baseURL + path + (parameters.isEmpty ? "" : "?\(parameters.joined(separator: "&"))")
    }

    /// The fields that the configuration adds to each request, without the key.
    func headers(_ keys: ProviderKeys) -> [TransferHeader] {
        headers.compactMap { field in keys.value(of: field).map { TransferHeader(field.name, $0) } }
    }

    /// The values of the dialect's settings.
    /// - Parameter value: returns the value of a variable of the environment.
    func settings(_ value: (_ variable: String) -> String?) -> [String: String] {
        Dictionary(settings.compactMap { field in field.value(value).map { (field.name, $0) } }) { $1 }
    }
}

extension ProviderKeys {
    fileprivate func value(of field: Provider.Field) -> String? { field.value { self[$0] } }
}

extension Provider.Field {
    fileprivate func value(_ variable: (String) -> String?) -> String? {
        switch value {
        case .constant(let value): value
        case .variable(let name): variable(name)
        }
    }
}
