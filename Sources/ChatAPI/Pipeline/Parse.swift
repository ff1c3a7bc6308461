import CoachCore
import GatewayAPI
import JSON

/// The body of a turn's request.
struct ParsedTurn: Sendable {
    var request: TurnRequest
    /// The body names a domain that does not exist.
    var hasUnknownDomain: Bool
}

extension TurnPipeline {
    /// Validates the body and the idempotency key. Pure.
    func parse(_ http: TurnHTTPRequest) throws(JSONFindings) -> ParsedTurn {
        let body = try ChatRequest.parse(http.body)
        let key: IdempotencyKey?
        do throws(JSONFinding) {
            key = try IdempotencyKey.resolve(header: http.idempotencyKey, body: body.clientMessageID)
        } catch {
            throw JSONFindings(error)
        }
        let domain = body.domain.flatMap(Domain.init)
        let request = TurnRequest(
            message: body.message, conversationID: body.conversationID.map(ConversationID.init),
            personaID: body.personaID.map(PersonaID.init), shareToken: body.shareToken, pinnedDomain: domain, idempotencyKey: key?.text,
            region: Region(country: body.country, locale: body.locale))
        return ParsedTurn(request: request, hasUnknownDomain: body.domain != nil && domain == nil)
    }
}
