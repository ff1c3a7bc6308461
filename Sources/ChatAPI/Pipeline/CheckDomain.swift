import CoachCore
import HTTPEdge

extension TurnPipeline {
    /// Rejects a domain that does not exist; for a user at risk the router chooses one.
    func checkDomain(_ parsed: ParsedTurn, _ assessment: PendingAssessment, _ http: TurnHTTPRequest) async throws {
        guard parsed.hasUnknownDomain else { return }
        let error = GatewayError(.personaOrDomainUnavailable, "there is no such domain").naming(field: "domain")
        try await throwUnlessInDanger(error, parsed.request, assessment, http)
    }
}
