import CoachCore
import GatewayAPI
import HTTPEdge
import TokenRelay

/// The first events of every stream of a turn, also of a resumed one: `start`, then `safety` if there are crisis resources.
struct OpeningEvents: Sendable {
    var requestID: String
    var disclosure: StreamStart.Disclosure?
    var safety: StreamSafety?

    func encode(_ facts: TurnFacts, into bytes: inout [UInt8]) {
        // At tier 2 and above the domain is null (CONTRACT §4).
        let domain = facts.risk.tier >= .crisis ? nil : facts.domain
        let start = StreamStart(
            turnID: facts.identity.turnID.uuid, conversationID: facts.identity.conversationID.uuid,
            userMessageID: facts.identity.userMessageID.uuid, messageID: facts.identity.messageID.uuid,
            attempt: facts.identity.attempt, domain: domain?.domain?.rawValue, domainConfidence: domain?.confidence,
            personaID: facts.personaID?.uuid, model: facts.model.model, disclosure: disclosure, requestID: requestID)
        StreamEvent.start(start).encode(cursor: 0, into: &bytes)
        if let safety { StreamEvent.safety(safety).encode(cursor: 0, into: &bytes) }
    }
}
