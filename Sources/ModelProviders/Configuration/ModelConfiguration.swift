import CoachCore
import JSON

/// The models, their order and their time limits: `deploy/models.json` with the environment applied.
public struct ModelConfiguration: Sendable, Equatable {
    /// The providers that can be used, by name.
    public var providers: [String: Provider]
    /// The route of an ordinary turn.
    public var defaultRoute: Route
    /// All routes by name, the default one included.
    public var routes: [String: Route]
    public var limits = CallLimits()
    /// nil: no judge.
    public var judge: JudgeSettings?
    /// Why providers are not used that the file means to be.
    public var warnings: [String] = []

    /// For each model, the highest limit on the tokens of an answer in all routes.
    public var longestAnswers: [ModelName: Int] {
        let choices = ([defaultRoute] + routes.values).flatMap(\.choices)
        return Dictionary(choices.map { ($0.name, $0.maximumOutputTokens) }) { max($0, $1) }
    }
}

/// The second look: see `SafetyJudge`.
public struct JudgeSettings: Sendable, Equatable {
    public var route: Route
    public var lowestScore: Float
    public var timeLimit: Duration
}

/// Models in the order in which they are tried; never empty.
public struct Route: Sendable, Equatable {
    public let first: ModelChoice
    public let others: [ModelChoice]
    /// Whether a second choice is called beside the first when the first is late. The faster one of the answers is used.
    public var isHedged: Bool

    /// All, first choice first.
    public var choices: [ModelChoice] { [first] + others }

    public init(_ first: ModelChoice, _ others: [ModelChoice] = [], isHedged: Bool = false) {
        self.first = first
        self.others = others
        self.isHedged = isHedged
    }
}

/// One model of one provider, with the parameters of its requests.
public struct ModelChoice: Sendable, Equatable {
    public var name: ModelName
    /// The limit includes reasoning with providers that count it so. A prompt may lower it.
    public var maximumOutputTokens = TokenEstimate.longestAnswer
    /// nil: not sent; the provider's default applies.
    public var temperature: Double?
    /// What only the provider's dialect has.
    public var options: [String: JSONValue] = [:]
    /// Further members of each request's body, as they are.
    public var parameters: [JSONMember] = []
    /// Neighbours with weights are tried in an order that is drawn by them for each call; nil: the choice stays in its place.
    public var weight: Int?
    /// Neighbours with this mark are tried in the order of their times to the first text.
    public var wantsLeastLatency = false
}

/// The limits of a model call, with their defaults: time per step, and size of the answer (DESIGN, Time limits).
public struct CallLimits: Sendable, Equatable {
    /// Name resolution, connection and TLS of one attempt.
    public var connect = Duration.seconds(1)
    /// From the start of an attempt, or the last reasoning before its text, to its first text.
    public var firstToken = Duration.seconds(6)
    /// From the start of the call to the first text, over all attempts.
    public var firstTokenOverall = Duration.seconds(15)
    /// Between two texts, or a text and reasoning.
    public var silence = Duration.seconds(20)
    /// From a finish reason without text to the end mark of the answer or the end of the connection.
    public var endMark = Duration.seconds(2)
    /// Silence after which text that the receiver holds back is released (DESIGN, Safety).
    public var held = Duration.seconds(1)
    /// The whole call.
    public var turn = Duration.seconds(180)
    /// UTF-8 bytes of the answer.
    public var answerBytes = 64 << 10
    /// From the start to the report of the error of a route's only provider, with its second attempt (CONTRACT §4).
    public var refusal = Duration.seconds(3)
    /// The pause before the second attempt at a route's only provider.
    public var retryPause = Duration.milliseconds(400)
    /// From the head of an error response to the end of its body.
    public var refusalBody = Duration.milliseconds(500)
}
