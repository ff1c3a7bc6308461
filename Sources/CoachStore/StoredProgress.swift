import CoachCore

/// What was decided about a turn, as `gateway.turn_progress` keeps it while the turn runs.
struct StoredFacts: Codable {
    var domain: StoredDomain
    var personaID: PersonaID?
    var provider: String
    var model: String
    var risk: StoredRisk
    var country: String?
    var locale: String?

    enum CodingKeys: String, CodingKey {
        case domain, provider, model, risk, country, locale
        case personaID = "persona_id"
    }

    init(_ facts: TurnFacts) {
        domain = StoredDomain(facts.domain)
        personaID = facts.personaID
        provider = facts.model.provider
        model = facts.model.model
        risk = StoredRisk(facts.risk)
        country = facts.country
        locale = facts.locale
    }
}

/// One of `starts` of `gateway.checkpoint`.
struct StoredProgress: Encodable {
    var userID: UserID
    var turnID: TurnID
    var attempt: Int
    var facts: StoredFacts
    var promptTokens: Int
    var provider: String?
    var model: String?

    enum CodingKeys: String, CodingKey {
        case attempt, facts, provider, model
        case userID = "user_id"
        case turnID = "turn_id"
        case promptTokens = "prompt_tokens"
    }

    init(_ progress: TurnProgress) {
        userID = progress.facts.userID
        turnID = progress.facts.identity.turnID
        attempt = progress.facts.identity.attempt
        facts = StoredFacts(progress.facts)
        promptTokens = progress.promptTokens
        provider = progress.answeredBy?.provider
        model = progress.answeredBy?.model
    }
}

/// One of `places` of `gateway.tail`.
struct StoredPlace: Encodable {
    var userID: UserID
    var turnID: TurnID
    var afterByte: Int
    var seen: Int64?

    enum CodingKeys: String, CodingKey {
        case seen
        case userID = "user_id"
        case turnID = "turn_id"
        case afterByte = "after_byte"
    }

    init(_ place: TurnPlace) {
        userID = place.userID
        turnID = place.turnID
        afterByte = place.afterByte
        seen = place.seen
    }
}

/// One turn of the answer of `gateway.orphans`.
struct StoredOrphan: Decodable {
    var userID: UserID
    var turn: StoredIdentity
    var facts: StoredFacts?
    var personaID: PersonaID?
    var risk: StoredRisk
    var country: String?
    var locale: String?
    var content: String
    var provider: String?
    var model: String?
    var promptTokens: Int
    var durationMilliseconds: Int

    enum CodingKeys: String, CodingKey {
        case turn, facts, risk, country, locale, content, provider, model
        case userID = "user_id"
        case personaID = "persona_id"
        case promptTokens = "prompt_tokens"
        case durationMilliseconds = "duration_ms"
    }

    var orphan: OrphanedTurn {
        get throws {
            let nobody = ModelName(provider: "", model: "")
            let facts = TurnFacts(
                userID: userID, identity: turn.identity,
                domain: try self.facts?.domain.decision ?? DomainDecision(domain: nil, confidence: 0, source: .abstained),
                personaID: self.facts.map(\.personaID) ?? personaID,
                model: self.facts.map { ModelName(provider: $0.provider, model: $0.model) } ?? nobody,
                risk: try (self.facts?.risk ?? risk).assessment, country: self.facts?.country ?? country,
                locale: self.facts?.locale ?? locale)
            var answeredBy: ModelName?
            if let provider, let model { answeredBy = ModelName(provider: provider, model: model) }
            return OrphanedTurn(
                facts: facts, content: content, answeredBy: answeredBy, promptTokens: promptTokens,
                durationMilliseconds: durationMilliseconds)
        }
    }
}
