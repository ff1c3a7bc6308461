import CoachCore
import GatewayAPI
import HTTPEdge
import JSON

extension TurnPipeline {
    /// Assesses risk and domain of the message in one pass. Pure.
    func assess(_ request: TurnRequest) -> MessageAssessment { coaching.assessor.assess(request.message) }

    /// The error for a malformed body. Carries crisis resources when the body has a readable message that shows danger.
    func malformed(_ findings: JSONFindings, _ http: TurnHTTPRequest) -> GatewayError {
        var rejection = GatewayError(findings)
        guard let body = try? JSONDocument(parsing: http.body).value, let message = body["message"]?.string else { return rejection }
        let request = TurnRequest(message: message, region: Region(country: body["country"]?.string, locale: body["locale"]?.string))
        rejection.safety = coaching.crisisResources(assess(request).risk, in: http.region(request))
        return rejection
    }
}
