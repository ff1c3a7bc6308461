import CoachCore
import GatewayAPI
import HTTPEdge
import JSON

extension TurnPipeline {
    /// Classifies the message: its risk and its scores for each coaching domain, by one pass and, where there is time, the encoder. An ordinary
    /// message is encoded while its turn begins.
    func assess(_ request: TurnRequest) async -> PendingAssessment { await encoderQueue.assess(request.message, by: coaching.assessor) }

    /// The error for an invalid body. Has crisis resources when the body contains a readable message at risk tier 2 or above.
    func malformed(_ findings: JSONFindings, _ http: TurnHTTPRequest) -> GatewayError {
        let rejection = GatewayError(findings)
        guard let body = try? JSONDocument(parsing: http.body).value, let message = body["message"]?.string else { return rejection }
        let request = TurnRequest(message: message, region: Region(country: body["country"]?.string, locale: body["locale"]?.string))
        return rejected(rejection, coaching.assessor.assess(message).risk, request, http)
    }

    /// An error from before the user's profile was read, with the crisis resources that the message calls for.
    func rejected(_ error: GatewayError, _ risk: RiskAssessment, _ request: TurnRequest, _ http: TurnHTTPRequest) -> GatewayError {
        var error = error
        error.safetyByProfile = { [coaching] profile in coaching.crisisResources(risk, in: http.region(request, profile: profile)) }
        return error
    }
}
