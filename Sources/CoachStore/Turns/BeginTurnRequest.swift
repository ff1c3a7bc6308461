import CoachCore
import JSON

/// The second argument of `gateway.begin_turn`, written as JSON: a new message or a retry, with the limits that apply.
struct BeginTurnRequest: StoredWritable {
    enum Kind {
        /// A new message, and the risk found in it.
        case message(TurnRequest, RiskAssessment)
        /// A new turn on the message of one that has ended.
        case retry(RetryRequest)
    }

    let kind: Kind
    let tiers: TierBook
    let consents: RequiredConsents
    /// The day on which each is.
    var exhausted: [SharedBudget: CalendarDay] = [:]
    let owner: TurnOwner

    /// The new message; nil for a retry, whose message the database has.
    var message: String? { if case .message(let request, _) = kind { request.message } else { nil } }

    func write(to json: inout JSONWriter) {
        json.object { json in
            switch kind {
            case .message(let request, let risk):
                request.writeFields(to: &json)
                json.field("risk", risk)
            case .retry(let request):
                json.field("retry_of", request.turnID)
                json.field("idempotency_key", request.idempotencyKey)
            }
            json.key(literal: "limits")
            json.object { json in
                tiers.writeFields(to: &json)
                json.key(literal: "crisis")
                json.object { json in
                    json.field("model_calls_per_day", tiers.crisis.modelCallsPerDay)
                    json.field("concurrent_turns", tiers.crisis.concurrentTurns)
                }
            }
            json.field("reserve_nanodollars", tiers.reservePerTurn)
            json.field("reserve_tokens", tiers.reservedTokensPerTurn)
            consents.writeFields(to: &json)
            json.field("owner", owner)
            if !exhausted.isEmpty {
                json.key(literal: "exhausted")
                json.object { json in
                    for (budget, day) in exhausted {
                        json.key(budget.name)
                        json.string(day.description)
                    }
                }
            }
        }
    }
}

extension TurnRequest {
    fileprivate func writeFields(to json: inout JSONWriter) {
        json.field("message", message)
        json.field("conversation_id", conversationID)
        json.field("persona_id", personaID)
        json.field("persona_slug", personaSlug)
        json.field("share_token", shareToken)
        json.field("domain", pinnedDomain?.rawValue)
        json.field("idempotency_key", idempotencyKey)
        region.writeFields(to: &json)
        if source != .app { json.field("source", source.rawValue) }
        guard let supplied else { return }
        if supplied.showsConcern { json.field("earlier_concern", true) }
        // Only compared with that of a repeated request.
        if idempotencyKey != nil { json.field("supplied", supplied) }
    }
}

extension SuppliedContext: StoredWritable {
    func write(to json: inout JSONWriter) {
        json.array { json in
            for text in clientTexts { json.string(text) }
            for message in history {
                json.string(message.role.rawValue)
                json.string(message.content)
            }
        }
    }
}

extension RequiredConsents {
    /// Writes nothing when chat requires no consent.
    fileprivate func writeFields(to json: inout JSONWriter) {
        if !beforeTurn.isEmpty {
            json.key(literal: "consents")
            json.object { json in
                for kind in beforeTurn {
                    json.key(kind.rawValue)
                    json.bool(true)
                }
            }
        }
        if kinds.contains(.memory) {
            json.key(literal: "requires_memory_consent")
            json.bool(true)
        }
    }
}

extension TurnOwner: StoredWritable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("instance", instance.canonicalText)
            json.field("epoch", epoch)
        }
    }
}
