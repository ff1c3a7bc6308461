import CoachCore
import JSON

/// An element of the argument `starts` of `gateway.checkpoint`.
extension TurnStart: StoredWritable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("user_id", facts.userID)
            json.field("conversation_id", facts.identity.conversationID)
            json.field("turn_id", facts.identity.turnID)
            json.field("attempt", facts.identity.attempt)
            json.field("facts", StoredFacts(facts, recordedCalls: recordedCalls))
            json.field("prompt_tokens", promptTokens)
            answeredBy?.writeFields(to: &json)
            if !unusedCalls.isEmpty { json.field("calls", unusedCalls) }
        }
    }
}

/// The facts of a turn as JSON, as `gateway.running_turns` stores them while the turn runs.
struct StoredFacts: StoredWritable, JSONReadable {
    var domain: DomainDecision
    var personaID: PersonaID?
    var model: ModelName
    var risk: RiskAssessment
    var region: Region
    var earlierCalls: [BilledCall]
    /// The numbers of the calls that the turn's progress has recorded.
    var recordedCalls: [Int]

    init(_ facts: TurnFacts, recordedCalls: [Int]) {
        domain = facts.domain
        personaID = facts.personaID
        model = facts.model
        risk = facts.risk
        region = facts.region
        earlierCalls = facts.earlierCalls
        self.recordedCalls = recordedCalls
    }

    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("domain", domain)
            json.field("persona_id", personaID)
            model.writeFields(to: &json)
            json.field("risk", risk)
            region.writeFields(to: &json)
            if !earlierCalls.isEmpty { json.field("calls", earlierCalls) }
            if !recordedCalls.isEmpty { json.field("recorded_calls", recordedCalls) }
        }
    }

    init(_ json: JSONReader) throws(JSONFinding) {
        domain = try json.required("domain")
        personaID = try json.optional("persona_id")
        model = try ModelName(stored: json)
        risk = try json.required("risk")
        region = try Region(json)
        earlierCalls = try json.optional("calls") ?? []
        recordedCalls = try json.optional("recorded_calls") ?? []
    }
}

/// An element of the argument `places` of `gateway.tail`.
extension TurnCursor: StoredWritable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("user_id", userID)
            json.field("turn_id", turnID)
            json.field("after_byte", afterByte)
            json.field("seen", seen)
        }
    }
}

/// An element of the result of `gateway.orphans`.
extension OrphanedTurn: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        // Nil when the turn has no checkpoint: then the values of `begin_turn` are used.
        let decided = try json.optional("facts", as: StoredFacts.self)
        let personaID = try json.optional("persona_id", as: PersonaID.self)
        let (risk, region) = (try json.required("risk", as: RiskAssessment.self), try Region(json))
        var facts = TurnFacts(
            userID: try json.required("user_id"), identity: try json.required("turn"), day: try json.required("day"),
            domain: decided?.domain ?? .undecided,
            personaID: decided.map(\.personaID) ?? personaID, model: decided?.model ?? ModelName(provider: "", model: ""),
            risk: decided?.risk ?? risk, region: decided?.region ?? region)
        facts.earlierCalls = decided?.earlierCalls ?? []
        self.init(
            start: TurnStart(
                facts: facts, promptTokens: try json.required("prompt_tokens"), answeredBy: try ModelName.stored(json),
                unusedCalls: try json.optional("calls") ?? [], recordedCalls: decided?.recordedCalls ?? []),
            content: try json.required("content"), durationMilliseconds: try json.required("duration_ms"),
            isStopRequested: try json.required("is_stop_requested"))
    }
}
