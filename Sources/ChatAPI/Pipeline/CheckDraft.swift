import CoachCore
import HTTPEdge

extension TurnPipeline {
    /// Rejects the preview of a draft that could not be published, because drafts written through PostgREST are not validated, and a draft's texts are in
    /// the prompt. For a user in danger returns the request without the persona. Returns a request that is no preview unchanged.
    func checkDraft(_ request: TurnRequest, _ assessment: PendingAssessment, _ http: TurnHTTPRequest) async throws -> TurnRequest {
        guard request.source == .preview, let persona = request.personaID else { return request }
        do {
            try PersonaContent.validate(try await drafts(http.caller, persona).content)
            return request
        } catch {
            let cause = error
            let error = errors.clientError(for: error, requestID: http.context.requestID)
            // `throwUnlessInDanger` would ask the database again and wait as long.
            if error.code == .databaseUnavailable { throw failure(cause, await assessment.final.risk, request, http) }
            try await throwUnlessInDanger(error, request, assessment, http)
            var request = request
            request.personaID = nil
            return request
        }
    }
}
