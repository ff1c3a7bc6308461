import CoachCore

/// The user's request counter as the functions of schema `gateway` write it.
struct StoredRate: Decodable {
    var limit: Int
    var remaining: Int
    var resetAt: Int

    enum CodingKeys: String, CodingKey {
        case limit, remaining
        case resetAt = "reset_at"
    }

    var rateLimit: RateLimit { RateLimit(limit: limit, remaining: remaining, resetAt: resetAt) }
}

/// The answer of `gateway.begin_turn`.
struct BeginTurnAnswer: Decodable {
    private var outcome: Outcome
    private var rate: StoredRate

    private enum Outcome {
        case begun(Begun)
        case known(StoredTurn)
        case refused(Refused)
    }

    private enum CodingKeys: String, CodingKey {
        case outcome, rate, known
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        rate = try container.decode(StoredRate.self, forKey: .rate)
        switch try container.decode(String.self, forKey: .outcome) {
        case "begun": outcome = .begun(try Begun(from: decoder))
        case "known": outcome = .known(try container.decode(StoredTurn.self, forKey: .known))
        case "refused": outcome = .refused(try Refused(from: decoder))
        default: throw DecodingError.dataCorruptedError(forKey: .outcome, in: container, debugDescription: "unknown outcome")
        }
    }

    var opening: TurnOpening {
        get throws {
            switch outcome {
            case .begun(let begun): .begun(try begun.context, rate.rateLimit)
            case .known(let turn): .known(try turn.known, rate.rateLimit)
            case .refused(let refused): .refused(try refused.refusal, rate.rateLimit)
            }
        }
    }

    /// The answer to `retry_of`.
    var retryOpening: RetryOpening {
        get throws {
            switch outcome {
            case .begun(let begun):
                guard let message = begun.message else { throw StoreFault.unexpected("a turn was tried again without its message") }
                return .begun(try begun.context, message: message, rate.rateLimit)
            case .known: throw StoreFault.unexpected("a turn that is tried again is a new one")
            case .refused(let refused): return .refused(try refused.refusal, rate.rateLimit)
            }
        }
    }
}

private struct Begun: Decodable {
    var turn: StoredIdentity
    var message: String?
    var profile: Profile?
    var summary: String?
    var history: [Said]
    var persona: StoredPersona?
    var safetyLevel: Int
    var conversationDomain: Domain?
    var pinnedDomain: Domain?
    var country: String?
    var locale: String?

    struct Profile: Decodable {
        var values: [Statement]
        var goals: [Statement]
        var situation: [Statement]

        var profile: ContextProfile? {
            let profile = ContextProfile(
                values: values.compactMap(\.text), goals: goals.compactMap(\.text), situation: situation.compactMap(\.text))
            return profile.isEmpty ? nil : profile
        }
    }

    /// A string, or an object that has it as `text`; nil for anything else, which no model can be told.
    struct Statement: Decodable {
        var text: String?

        init(from decoder: any Decoder) throws {
            struct Object: Decodable { var text: String }
            text = (try? decoder.singleValueContainer().decode(String.self)) ?? (try? Object(from: decoder).text)
            if text?.isEmpty == true { text = nil }
        }
    }

    struct Said: Decodable {
        var role: String
        var content: String
    }

    struct StoredPersona: Decodable {
        var id: PersonaID
        var name: String
        var domain: Domain?
        var tone: String?
        var methodology: String?
        var personality: String?
    }

    enum CodingKeys: String, CodingKey {
        case turn, message, profile, summary, history, persona, country, locale
        case safetyLevel = "safety_level"
        case conversationDomain = "conversation_domain"
        case pinnedDomain = "pinned_domain"
    }

    var context: TurnContext {
        get throws {
            TurnContext(
                identity: turn.identity,
                profile: profile.flatMap(\.profile),
                summary: summary,
                history: try history.map { HistoryMessage(speaker: try .stored($0.role), content: $0.content) },
                persona: persona.map {
                    Persona(
                        id: $0.id, name: $0.name, domain: $0.domain, tone: $0.tone, methodology: $0.methodology, personality: $0.personality
                    )
                },
                safetyLevel: try .stored(safetyLevel), conversationDomain: conversationDomain, pinnedDomain: pinnedDomain,
                country: country, locale: locale)
        }
    }
}

private struct Refused: Decodable {
    var reason: String
    var retryAfter: Int?
    var limit: Int?
    var safetyLevel: Int

    enum CodingKeys: String, CodingKey {
        case reason, limit
        case retryAfter = "retry_after"
        case safetyLevel = "safety_level"
    }

    var refusal: Refusal {
        get throws {
            Refusal(reason: try .stored(reason), retryAfter: retryAfter, limit: limit, safetyLevel: try .stored(safetyLevel))
        }
    }
}
