import CoachCore
import GatewayAPI
import JSON

/// The validated body of a request for a new turn.
struct ParsedTurn: Sendable {
    var request: TurnRequest
    /// Whether the body has a domain that does not exist. Checked later, by `checkDomain`.
    var hasUnknownDomain: Bool
}

extension TurnPipeline {
    /// Parses and validates the body and the idempotency key. Pure.
    func parse(_ http: TurnHTTPRequest) throws(JSONFindings) -> ParsedTurn {
        let body = try http.previewedPersona == nil ? ChatRequest.parse(http.body) : ChatRequest.preview.value(of: http.body)
        let key: IdempotencyKey?
        do throws(JSONFinding) {
            key = try IdempotencyKey.resolve(header: http.idempotencyKey, body: body.clientMessageID)
        } catch {
            throw JSONFindings(error)
        }
        let domain = body.domain.flatMap(Domain.init)
        var request = TurnRequest(
            message: body.message, conversationID: body.conversationID.map(ConversationID.init),
            personaID: body.personaID.map(PersonaID.init), shareToken: body.shareToken, pinnedDomain: domain, idempotencyKey: key?.text,
            region: Region(country: body.country, locale: body.locale))
        if let persona = http.previewedPersona { (request.personaID, request.source) = (persona, .preview) }
        return ParsedTurn(request: request, hasUnknownDomain: body.domain != nil && domain == nil)
    }
}
