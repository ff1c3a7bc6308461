import CoachCore
import HTTPEdge

extension TurnPipeline {
    /// Rejects a domain that does not exist; for a user at risk the router chooses one.
    func checkDomain(_ parsed: ParsedTurn, _ assessment: PendingAssessment, _ http: TurnHTTPRequest) async throws {
        guard parsed.hasUnknownDomain else { return }
        let error = GatewayError(.personaOrDomainUnavailable, "there is no such domain").naming(field: "domain")
        try await throwUnlessInDanger(error, parsed.request, assessment, http)
    }

    /// Throws the error, unless the message or the stored level shows danger (CONTRACT §4). Counts the request, to read the stored level.
    func throwUnlessInDanger(
        _ error: GatewayError, _ request: TurnRequest, _ assessment: PendingAssessment, _ http: TurnHTTPRequest
    ) async throws {
        let assessment = await assessment.final
        guard assessment.risk.tier < .crisis else { return }
        let counted: CountedRequest
        do {
            counted = try await counter.take(http.caller, true)
        } catch let counted as CountedRejection {
            throw rejected(counted.rejection, counted.rate, request, assessment, http)
        } catch {
            throw failure(error, assessment.risk, request, http)
        }
        guard counted.safetyLevel == .calm else { return }
        var error = error
        error.rate = counted.rate
        throw error
    }
}
