import CoachCore

/// The argument of `gateway.begin_turn`.
struct BeginTurnRequest: Encodable {
    var message: String?
    var retryOf: TurnID?
    var conversationID: ConversationID?
    var personaID: PersonaID?
    var shareToken: String?
    var domain: Domain?
    var idempotencyKey: String?
    var locale: String?
    var country: String?
    var risk: StoredRisk?
    var history: History
    var limits: Limits
    var reserveNanodollars: Int64?
    var owner: Owner

    struct History: Encodable {
        var tokens: Int
        var messages: Int
    }

    struct Limits: Encodable {
        var requestsPerMinute: Int
        var defaultTier: String
        var tiers: [String: Tier]

        struct Tier: Encodable {
            var messagesPerDay: Int?
            var concurrentTurns: Int?
            var nanodollarsPerDay: Int64?

            enum CodingKeys: String, CodingKey {
                case messagesPerDay = "messages_per_day"
                case concurrentTurns = "concurrent_turns"
                case nanodollarsPerDay = "nanodollars_per_day"
            }
        }

        enum CodingKeys: String, CodingKey {
            case requestsPerMinute = "requests_per_minute"
            case defaultTier = "default_tier"
            case tiers
        }
    }

    struct Owner: Encodable {
        var instance: String
        var epoch: Int64

        init(_ owner: TurnOwner) {
            instance = owner.instance.uuidString
            epoch = owner.epoch
        }
    }

    enum CodingKeys: String, CodingKey {
        case message, domain, locale, country, risk, history, limits, owner
        case retryOf = "retry_of"
        case conversationID = "conversation_id"
        case personaID = "persona_id"
        case shareToken = "share_token"
        case idempotencyKey = "idempotency_key"
        case reserveNanodollars = "reserve_nanodollars"
    }

    /// A new message.
    init(_ request: TurnRequest, risk assessment: RiskAssessment, limits policy: TurnLimits, owner process: TurnOwner) {
        self.init(limits: policy, owner: process)
        message = request.message
        conversationID = request.conversationID
        personaID = request.personaID
        shareToken = request.shareToken
        domain = request.pinnedDomain
        idempotencyKey = request.idempotencyKey
        locale = request.locale
        country = request.country
        risk = StoredRisk(assessment)
    }

    /// A new turn on the message of one that has ended.
    init(retryOf turnID: TurnID, limits policy: TurnLimits, owner process: TurnOwner) {
        self.init(limits: policy, owner: process)
        retryOf = turnID
    }

    private init(limits policy: TurnLimits, owner process: TurnOwner) {
        history = History(tokens: policy.historyTokens, messages: policy.historyMessages)
        limits = Limits(
            requestsPerMinute: policy.requestsPerMinute, defaultTier: policy.defaultTier,
            tiers: policy.tiers.mapValues {
                .init(
                    messagesPerDay: $0.messagesPerDay, concurrentTurns: $0.concurrentTurns, nanodollarsPerDay: $0.costPerDay?.raw)
            })
        reserveNanodollars = policy.reservePerTurn?.raw
        owner = Owner(process)
    }
}
