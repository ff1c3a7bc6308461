import CoachCore
import JSON

/// The ids of a turn as the turn functions write them.
extension TurnIdentity: StoredWritable, StoredReadable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("turn_id", turnID)
            json.field("conversation_id", conversationID)
            json.field("user_message_id", userMessageID)
            json.field("message_id", messageID)
            json.field("attempt", attempt)
        }
    }

    init(_ stored: StoredValue) throws(StoredMismatch) {
        self.init(
            turnID: try stored.member("turn_id"), conversationID: try stored.member("conversation_id"),
            userMessageID: try stored.member("user_message_id"), messageID: try stored.member("message_id"),
            attempt: try stored.member("attempt"))
    }
}

/// A bill as the turn functions read and write it.
extension TurnBill: StoredWritable, StoredReadable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("provider", provider)
            json.field("model", model)
            json.field("input", usage.input)
            json.field("cached_input", usage.cachedInput)
            json.field("cache_write", usage.cacheWrite)
            json.field("output", usage.output)
            json.field("reasoning", usage.reasoning)
            json.field("cost_nanodollars", cost)
            json.field("estimated", estimated)
        }
    }

    init(_ stored: StoredValue) throws(StoredMismatch) {
        let usage = TokenUsage(
            input: try stored.optional("input"), cachedInput: try stored.optional("cached_input"),
            cacheWrite: try stored.optional("cache_write"), output: try stored.optional("output"),
            reasoning: try stored.optional("reasoning"))
        self.init(
            provider: try stored.member("provider"), model: try stored.member("model"), usage: usage,
            cost: try stored.optional("cost_nanodollars"), estimated: try stored.member("estimated"))
    }
}

/// Where a turn was routed.
extension DomainDecision: StoredWritable, StoredReadable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("domain", domain?.rawValue)
            json.field("confidence", confidence)
            json.field("source", source.rawValue)
        }
    }

    init(_ stored: StoredValue) throws(StoredMismatch) {
        self.init(
            domain: try stored.optionalChoice("domain"), confidence: try stored.member("confidence"), source: try stored.choice("source"))
    }
}

/// What was found about danger.
extension RiskAssessment: StoredWritable, StoredReadable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("tier", tier.rawValue)
            json.field("categories", categories)
            json.field("subject", subject.rawValue)
            json.field("patterns", patterns)
        }
    }

    init(_ stored: StoredValue) throws(StoredMismatch) {
        self.init(
            tier: try stored.choice("tier"), categories: try stored.member("categories"), subject: try stored.choice("subject"),
            patterns: try stored.member("patterns"))
    }
}

extension RiskCategory: StoredWritable, StoredReadable {
    func write(to json: inout JSONWriter) { json.string(rawValue) }
    init(_ stored: StoredValue) throws(StoredMismatch) { self = try stored.map { $0.string.flatMap { Self(rawValue: $0) } } }
}

extension CalendarDay: StoredReadable {
    init(_ stored: StoredValue) throws(StoredMismatch) { self = try stored.map { $0.string.flatMap { Self($0) } } }
}

/// A whole turn, as `gateway.load_turn` tells it.
extension KnownTurn: StoredReadable {
    init(_ stored: StoredValue) throws(StoredMismatch) {
        self.init(
            userID: try stored.member("user_id"), identity: try stored.member("turn"), day: try stored.member("day"),
            status: try stored.choice("status"),
            finishReason: try stored.optionalChoice("finish_reason"), errorCode: try stored.optional("error_code"),
            content: try stored.member("content"), bill: try stored.optional("bill"), domain: try stored.member("domain"),
            personaID: try stored.optional("persona_id"), risk: try stored.member("risk"), country: try stored.optional("country"),
            locale: try stored.optional("locale"))
    }
}

extension RawRepresentable {
    /// A value of a column; one that this version does not know is a fault of the schema.
    static func stored(_ raw: RawValue) throws -> Self {
        guard let value = Self(rawValue: raw) else { throw StoreFault.unexpected("the database holds an unknown \(Self.self)") }
        return value
    }
}
