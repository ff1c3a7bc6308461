import CoachCore
import HTTPEdge

extension TurnPipeline {
    /// Rejects a domain that does not exist, unless the user is in danger: then the router chooses one.
    func checkDomain(_ parsed: ParsedTurn, _ assessment: PendingAssessment, _ http: TurnHTTPRequest) async throws {
        guard parsed.hasUnknownDomain else { return }
        try await throwUnlessInDanger(.unknownDomain, parsed.request, assessment, http)
    }
}
