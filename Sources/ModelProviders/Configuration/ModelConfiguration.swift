import CoachCore

/// Which models answer, in which order, and how long each may take: `deploy/models.json` with the environment applied.
public struct ModelConfiguration: Sendable, Equatable {
    /// The providers that can be used, by name.
    public var providers: [String: Provider]
    /// What is tried for an ordinary turn.
    public var defaultRoute: Route
    /// All routes by name, the default one included.
    public var routes: [String: Route]
    public var limits: CallLimits

    public init(providers: [String: Provider], defaultRoute: Route, routes: [String: Route], limits: CallLimits = CallLimits()) {
        self.providers = providers
        self.defaultRoute = defaultRoute
        self.routes = routes
        self.limits = limits
    }
}

/// Somebody who runs models.
public struct Provider: Sendable, Equatable {
    /// As routes and prices name it.
    public var name: String
    public var dialect: Dialect
    /// Without a slash at its end; the dialect appends its path.
    public var baseURL: String
    /// The environment variable that holds the key; nil: none is sent.
    public var keyVariable: String?
    /// PEM file of the only authorities to trust; nil: those of the system.
    public var authorityFile: String?

    public init(name: String, dialect: Dialect, baseURL: String, keyVariable: String? = nil, authorityFile: String? = nil) {
        self.name = name
        self.dialect = dialect
        self.baseURL = baseURL
        self.keyVariable = keyVariable
        self.authorityFile = authorityFile
    }
}

/// Models in the order in which they are tried; never empty.
public struct Route: Sendable, Equatable {
    public let first: ModelChoice
    public let others: [ModelChoice]

    /// All, first choice first.
    public var choices: [ModelChoice] { [first] + others }

    /// A route.
    public init(_ first: ModelChoice, _ others: [ModelChoice] = []) {
        self.first = first
        self.others = others
    }
}

/// One model of one provider, and how it is asked.
public struct ModelChoice: Sendable, Equatable {
    /// How the bound of answer tokens is called: newer OpenAI models refuse the older name, many compatible servers know only that.
    public enum TokenLimitField: String, Sendable, CaseIterable {
        case maxCompletionTokens = "max_completion_tokens"
        case maxTokens = "max_tokens"
    }

    public var name: ModelName
    /// The prompt may ask for less, never for more.
    public var maximumOutputTokens: Int
    /// nil: not sent, the provider's default holds.
    public var temperature: Double?
    public var tokenLimitField: TokenLimitField

    public init(
        name: ModelName, maximumOutputTokens: Int = 1024, temperature: Double? = nil,
        tokenLimitField: TokenLimitField = .maxCompletionTokens
    ) {
        self.name = name
        self.maximumOutputTokens = maximumOutputTokens
        self.temperature = temperature
        self.tokenLimitField = tokenLimitField
    }
}

/// How long a model call may take at each of its steps, and how much it may say (DESIGN, Time limits).
public struct CallLimits: Sendable, Equatable {
    /// Name resolution, connection and TLS of one attempt.
    public var connect: Duration
    /// From the start of an attempt to its first text.
    public var firstToken: Duration
    /// From the start of the call to the first text, over all attempts.
    public var firstTokenOverall: Duration
    /// Between two texts.
    public var silence: Duration
    /// The whole call.
    public var turn: Duration
    /// UTF-8 bytes of the answer.
    public var answerBytes: Int
    /// Within this time after the start a lone provider that refused is reported (CONTRACT §4); a second try must fit into it.
    public var refusal: Duration
    /// Before a lone provider that refused is asked once more.
    public var retryPause: Duration
    /// How long the body of an error response is waited for.
    public var refusalBody: Duration

    /// The shipped limits, each of which can be changed.
    public init(
        connect: Duration = .seconds(1), firstToken: Duration = .seconds(6), firstTokenOverall: Duration = .seconds(15),
        silence: Duration = .seconds(20), turn: Duration = .seconds(180), answerBytes: Int = 64 << 10, refusal: Duration = .seconds(3),
        retryPause: Duration = .milliseconds(400), refusalBody: Duration = .milliseconds(500)
    ) {
        self.connect = connect
        self.firstToken = firstToken
        self.firstTokenOverall = firstTokenOverall
        self.silence = silence
        self.turn = turn
        self.answerBytes = answerBytes
        self.refusal = refusal
        self.retryPause = retryPause
        self.refusalBody = refusalBody
    }
}
