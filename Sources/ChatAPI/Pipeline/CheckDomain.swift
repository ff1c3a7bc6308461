import CoachCore
import HTTPEdge

extension TurnPipeline {
    /// Rejects a request for a domain that does not exist. A message at risk, or a stored safety level above calm, must get an answer: then
    /// the router chooses the domain (CONTRACT §4). Counts the request, because that returns the stored level.
    func checkDomain(_ parsed: ParsedTurn, _ assessment: MessageAssessment, _ http: TurnHTTPRequest) async throws {
        guard parsed.hasUnknownDomain, assessment.risk.tier < .crisis else { return }
        let counted: CountedRequest
        do {
            counted = try await counter.take(http.caller)
        } catch let counted as CountedRejection {
            throw rejected(counted.rejection, counted.rate, parsed.request, assessment, http)
        }
        guard counted.safetyLevel == .calm else { return }
        var error = GatewayError(.personaOrDomainUnavailable, "there is no such domain").naming(field: "domain")
        error.rate = counted.rate
        throw error
    }
}
