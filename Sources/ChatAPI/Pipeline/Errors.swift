import CoachCore
import HTTPEdge
import JSON

/// The errors of requests for which no turn has begun, with the crisis resources that their message calls for.
extension TurnPipeline {
    /// The error for an invalid body. Has crisis resources when its message, or where none can be read the whole body, or the stored
    /// level calls for them.
    func malformed(_ findings: JSONFindings, _ http: TurnHTTPRequest) async -> GatewayError {
        let body = try? JSONDocument(parsing: http.body).value
        // Also when the field is given twice.
        let messages = (body?.members ?? []).filter { $0.key == "message" }.compactMap(\.value.string)
        let message = messages.isEmpty ? http.text : messages.joined(separator: "\n")
        let request = TurnRequest(message: message, region: Region(country: body?["country"]?.string, locale: body?["locale"]?.string))
        return rejected(GatewayError(findings), await assessRejected(request, http), request, http)
    }

    /// The risk of a rejected message, which may be longer than a message of a turn.
    func assessRejected(_ request: TurnRequest, _ http: TurnHTTPRequest) async -> RiskAssessment {
        let risk = await assess(request, http).final.risk
        return coaching.assessor.omittedRisk(of: request.message).map { risk.merged(with: $0) } ?? risk
    }

    /// An error from before the user's profile was read, with the crisis resources that the message or the stored level calls for.
    func rejected(_ error: GatewayError, _ risk: RiskAssessment, _ request: TurnRequest, _ http: TurnHTTPRequest) -> GatewayError {
        var error = error
        error.safetyByProfile = { [coaching] stored, profile in
            let stored = request.level(stored: stored)
            return coaching.crisisResources(
                coaching.fusion.fuse(risk, stored: stored).risk, stored: stored, in: http.region(request, profile: profile))
        }
        return error
    }

    /// Throws the error, unless the message or the stored level shows danger (CONTRACT §4). Counts the request, to read the stored level.
    func throwUnlessInDanger(
        _ error: GatewayError, _ request: TurnRequest, _ assessment: PendingAssessment, _ http: TurnHTTPRequest
    ) async throws {
        let assessment = await assessment.final
        guard assessment.risk.tier < .crisis, request.level(stored: .calm) == .calm else { return }
        let counted: CountedRequest
        do {
            counted = try await counter.take(http.caller, true)
        } catch let counted as CountedRejection {
            http.context.rateLimit.record(counted.rate)
            throw rejected(counted.rejection, request, assessment, http)
        } catch {
            throw failure(error, assessment.risk, request, http)
        }
        // A user in danger goes on to `begin`, whose count the response states.
        guard counted.safetyLevel == .calm else { return }
        http.context.rateLimit.record(counted.rate)
        throw error
    }

    /// The client error for a request that could not be decided on, with crisis resources when the message is at risk tier 2 or above, or the user was
    /// in danger lately.
    func failure(_ error: any Error, _ risk: RiskAssessment, _ request: TurnRequest, _ http: TurnHTTPRequest) -> GatewayError {
        var error = errors.clientError(for: error, requestID: http.context.requestID)
        let recent = recentDanger.state(of: http.caller.userID)
        error.safety = coaching.crisisResources(
            risk, stored: request.level(stored: recent.level), in: http.region(request, profile: recent.region))
        return error
    }

    /// The error for a rejection by the database, with crisis resources when the message or the stored safety level requires them.
    func rejected(
        _ rejection: Rejection, _ request: TurnRequest, _ assessment: MessageAssessment, _ http: TurnHTTPRequest
    ) -> GatewayError {
        var error = GatewayError(rejection, offering: tiers.current)
        if rejection.reason == .unknownPersona { error = error.naming(field: request.personaField) }
        let stored = request.level(stored: rejection.safetyLevel)
        error.safety = coaching.crisisResources(
            coaching.fusion.fuse(assessment.risk, stored: stored).risk, stored: stored,
            in: http.region(request, profile: rejection.region))
        return error
    }
}

extension TurnHTTPRequest {
    /// The beginning of a body in which no message was found, as text: it may be cut, in another encoding, or have the message in another place.
    var text: String { String(decoding: body.prefix(4 * TurnRequest.maximumMessageScalars), as: UTF8.self) }
}

extension TurnRequest {
    /// The field that names the persona.
    fileprivate var personaField: String { source == .openai ? "model" : shareToken != nil ? "share_token" : "persona_id" }
}
