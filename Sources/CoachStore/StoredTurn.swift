import CoachCore

/// The ids of a turn as the turn functions write them.
struct StoredIdentity: Codable {
    var turnID: TurnID
    var conversationID: ConversationID
    var userMessageID: MessageID
    var messageID: MessageID
    var attempt: Int

    enum CodingKeys: String, CodingKey {
        case turnID = "turn_id"
        case conversationID = "conversation_id"
        case userMessageID = "user_message_id"
        case messageID = "message_id"
        case attempt
    }

    init(_ identity: TurnIdentity) {
        turnID = identity.turnID
        conversationID = identity.conversationID
        userMessageID = identity.userMessageID
        messageID = identity.messageID
        attempt = identity.attempt
    }

    var identity: TurnIdentity {
        TurnIdentity(
            turnID: turnID, conversationID: conversationID, userMessageID: userMessageID, messageID: messageID, attempt: attempt)
    }
}

/// A bill as the turn functions read and write it.
struct StoredBill: Codable {
    var provider: String
    var model: String
    var input: Int?
    var cachedInput: Int?
    var cacheWrite: Int?
    var output: Int?
    var reasoning: Int?
    var costNanodollars: Int64?
    var estimated: Bool

    enum CodingKeys: String, CodingKey {
        case provider, model, input, output, reasoning, estimated
        case cachedInput = "cached_input"
        case cacheWrite = "cache_write"
        case costNanodollars = "cost_nanodollars"
    }

    init(_ bill: TurnBill) {
        provider = bill.provider
        model = bill.model
        input = bill.usage.input
        cachedInput = bill.usage.cachedInput
        cacheWrite = bill.usage.cacheWrite
        output = bill.usage.output
        reasoning = bill.usage.reasoning
        costNanodollars = bill.cost?.raw
        estimated = bill.estimated
    }

    var bill: TurnBill {
        TurnBill(
            provider: provider, model: model,
            usage: TokenUsage(input: input, cachedInput: cachedInput, cacheWrite: cacheWrite, output: output, reasoning: reasoning),
            cost: costNanodollars.map(Nanodollars.init), estimated: estimated)
    }
}

/// Where a turn was routed.
struct StoredDomain: Codable {
    var domain: Domain?
    var confidence: Double
    var source: String

    init(_ decision: DomainDecision) {
        domain = decision.domain
        confidence = decision.confidence
        source = decision.source.rawValue
    }

    var decision: DomainDecision {
        get throws {
            DomainDecision(domain: domain, confidence: confidence, source: try .stored(source))
        }
    }
}

/// What was found about danger.
struct StoredRisk: Codable {
    var tier: Int
    var categories: [String]
    var subject: String
    var patterns: [String]

    init(_ risk: RiskAssessment) {
        tier = risk.tier.rawValue
        categories = risk.categories.map(\.rawValue)
        subject = risk.subject.rawValue
        patterns = risk.patterns
    }

    var assessment: RiskAssessment {
        get throws {
            RiskAssessment(
                tier: try .stored(tier), categories: try categories.map { try .stored($0) }, subject: try .stored(subject),
                patterns: patterns)
        }
    }
}

/// A whole turn, as `gateway.load_turn` tells it.
struct StoredTurn: Decodable {
    var userID: UserID
    var turn: StoredIdentity
    var status: String
    var finishReason: String?
    var errorCode: String?
    var content: String
    var bill: StoredBill?
    var domain: StoredDomain
    var personaID: PersonaID?
    var risk: StoredRisk
    var country: String?
    var locale: String?

    enum CodingKeys: String, CodingKey {
        case turn, status, content, bill, domain, risk, country, locale
        case userID = "user_id"
        case finishReason = "finish_reason"
        case errorCode = "error_code"
        case personaID = "persona_id"
    }

    var known: KnownTurn {
        get throws {
            KnownTurn(
                userID: userID, identity: turn.identity, status: try .stored(status),
                finishReason: try finishReason.map { try .stored($0) },
                errorCode: errorCode, content: content, bill: bill?.bill, domain: try domain.decision, personaID: personaID,
                risk: try risk.assessment, country: country, locale: locale)
        }
    }
}

extension RawRepresentable {
    /// A stored value; one that this version does not know is a fault of the schema.
    static func stored(_ raw: RawValue) throws -> Self {
        guard let value = Self(rawValue: raw) else { throw StoreFault.unexpected("the database holds an unknown \(Self.self)") }
        return value
    }
}
