import CoachCore
import HTTPEdge

extension TurnPipeline {
    /// Rejects the preview of a draft that could not be published: what came in behind PostgREST was not validated, and enters a prompt here. For a
    /// user in danger the plain coach answers. A request that is no preview is returned as it is.
    func checkDraft(_ request: TurnRequest, _ assessment: PendingAssessment, _ http: TurnHTTPRequest) async throws -> TurnRequest {
        guard request.source == .preview, let persona = request.personaID else { return request }
        do {
            try await drafts(http.caller, persona).validateContent()
            return request
        } catch {
            let cause = error
            let error = errors.clientError(for: error, requestID: http.context.requestID)
            // Not asked a second time, which would take as long again.
            if error.code == .databaseUnavailable { throw failure(cause, await assessment.final.risk, request, http) }
            try await throwUnlessInDanger(error, request, assessment, http)
            var request = request
            request.personaID = nil
            return request
        }
    }
}
