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
        var rejection = GatewayError(findings)
        guard let body = try? JSONDocument(parsing: http.body).value, let message = body["message"]?.string else { return rejection }
        let request = TurnRequest(message: message, region: Region(country: body["country"]?.string, locale: body["locale"]?.string))
        rejection.safety = coaching.crisisResources(coaching.assessor.assess(message).risk, in: http.region(request))
        return rejection
    }
}
