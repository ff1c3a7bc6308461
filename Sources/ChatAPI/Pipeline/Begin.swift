import CoachCore
import HTTPEdge

extension TurnPipeline {
    /// Calls `begin_turn` in one round trip. Calls it again when it rejects a message that is a crisis by the encoder or by the stored safety level, which
    /// comes with the rejection. When the result is `begun`, the user's message is saved with `savedRisk`. Throws `failure`.
    /// `overload` is the argument of `Admission.admitting`.
    func begin(
        _ request: TurnRequest, _ assessment: PendingAssessment, unless overload: GatewayError?, _ http: TurnHTTPRequest
    ) async throws(GatewayError) -> (result: BeginTurnResult, savedRisk: RiskAssessment) {
        do {
            var savedRisk = assessment.first.risk
            let result = try await admitted(
                unless: overload, orRepeated: { try await repository.repeated(http.caller, request) }
            ) {
                let first = try await repository.begin(http.caller, request, assessment.first)
                guard case .rejected(let rejection, _) = first, assessment.first.risk.tier < .crisis else { return first }
                let final = await assessment.final
                // Most limits do not reject a user in danger (CONTRACT §4).
                let risk = coaching.fusion.fuse(final.risk, stored: rejection.safetyLevel).risk
                guard risk.tier >= .crisis else { return first }
                savedRisk = risk
                return try await repository.begin(http.caller, request, MessageAssessment(risk: risk, domains: final.domains))
            }
            http.context.rateLimit.record(result.rate)
            return (result, savedRisk)
        } catch {
            throw failure(error, await assessment.final.risk, request, http)
        }
    }

    /// The result of `begin`; when no new turn is admitted, the existing turn of a repeated request, which `repeated` looks up. When the database is
    /// unavailable for that, its error is thrown and not `overload`, for which the request would be counted, and wait for the database once more.
    func admitted(
        unless overload: GatewayError?, orRepeated repeated: () async throws -> BeginTurnResult?,
        begin: () async throws -> BeginTurnResult
    ) async throws -> BeginTurnResult {
        guard let overload else { return try await begin() }
        do {
            if let known = try await repeated() { return known }
        } catch let fault as StoreFault {
            if case .unavailable = fault { throw fault }
        } catch {}
        throw overload
    }
}
