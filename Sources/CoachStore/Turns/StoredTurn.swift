import CoachCore
import JSON

/// The ids of a turn in the JSON of the database functions.
extension TurnIdentity: StoredWritable, JSONReadable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("turn_id", turnID)
            json.field("conversation_id", conversationID)
            json.field("user_message_id", userMessageID)
            json.field("message_id", messageID)
            json.field("attempt", attempt)
        }
    }

    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            turnID: try json.required("turn_id"), conversationID: try json.required("conversation_id"),
            userMessageID: try json.required("user_message_id"), messageID: try json.required("message_id"),
            attempt: try json.required("attempt"))
    }
}

/// A bill in the JSON of the database functions.
extension TurnBill: StoredWritable, JSONReadable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            name.writeFields(to: &json)
            usage.writeFields(to: &json)
            json.field("cost_nanodollars", cost)
            json.field("estimated", estimated)
        }
    }

    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            name: try ModelName(stored: json), usage: try TokenUsage(stored: json), cost: try json.optional("cost_nanodollars"),
            estimated: try json.required("estimated"))
    }
}

/// A domain decision in the JSON of the database functions.
extension DomainDecision: StoredWritable, JSONReadable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("domain", domain?.rawValue)
            json.field("confidence", confidence)
            json.field("source", source.rawValue)
        }
    }

    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            domain: try json.optional("domain", .choice), confidence: try json.required("confidence"),
            source: try json.required("source", .choice))
    }
}

/// A risk assessment in the JSON of the database functions.
extension RiskAssessment: StoredWritable, JSONReadable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("tier", tier.rawValue)
            json.field("categories", categories)
            json.field("subject", subject.rawValue)
            json.field("patterns", patterns)
        }
    }

    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            tier: try json.required("tier", .choice), categories: try json.required("categories"),
            subject: try json.required("subject", .choice),
            patterns: try json.required("patterns"))
    }
}

extension RiskCategory: StoredWritable {
    func write(to json: inout JSONWriter) { json.string(rawValue) }
}

/// A region in the JSON of the database functions: the members `country` and `locale` of the enclosing object.
extension Region: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(country: try json.optional("country"), locale: try json.optional("locale"))
    }

    func writeFields(to json: inout JSONWriter) {
        json.field("country", country)
        json.field("locale", locale)
    }
}

/// The result of `gateway.load_turn`.
extension KnownTurn: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            userID: try json.required("user_id"), identity: try json.required("turn"), day: try json.required("day"),
            startedAt: try json.optional("started_at"), status: try json.required("status", .choice),
            finishReason: try json.optional("finish_reason", .choice), errorCode: try json.optional("error_code"),
            content: try json.required("content"), bill: try json.optional("bill"), tier: try json.optional("tier") ?? "",
            domain: try json.required("domain"), personaID: try json.optional("persona_id"), risk: try json.required("risk"),
            region: try Region(json),
            disclosure: try json.optional("disclosure", .choice), isDecided: try json.required("is_decided"),
            safetyLevel: try json.required("safety_level", .choice), endedByCrash: try json.required("ended_by_crash"),
            hasLostAttempt: try json.required("has_lost_attempt"))
    }
}

extension RawRepresentable {
    /// The case for a column's value. Throws `StoreFault.unexpected` for a value that this release does not know.
    static func stored(_ raw: RawValue) throws -> Self {
        guard let value = Self(rawValue: raw) else { throw StoreFault.unexpected("the database holds an unknown \(Self.self)") }
        return value
    }
}
