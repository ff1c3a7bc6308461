import CoachCore
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON
import TokenRelay

/// What the OpenAI-compatible routes have in common: another wire format of the same turns (CONTRACT §7).
extension TurnPipeline {
    /// Earlier messages that are assessed, from the newest: what is older says little about now. No further one is after so many bytes, because the event
    /// loop does nothing else meanwhile.
    private static let assessedMessages = 50
    private static let assessedBytes = 2 * TurnRequest.maximumMessageScalars

    /// Reads the body of a request. The error of a malformed one has crisis resources when its texts call for them.
    func read<Body>(
        _ http: TurnHTTPRequest, _ body: (JSONReader) throws(JSONFinding) -> Body
    ) async throws(GatewayError) -> Body {
        do throws(JSONFindings) {
            return try JSONReader.read(requestBody: http.body, body)
        } catch {
            let texts = ClientTexts(rejected: http.body)
            // A body that is no JSON is read as it is, of any other one the user's texts alone.
            guard texts != nil || (try? JSONDocument(parsing: http.body)) == nil else { throw GatewayError(error) }
            let history = (texts?.earlier ?? []).map { HistoryMessage(role: .user, content: $0) }
            let request = request(texts?.newest ?? http.text, history: history, clientTexts: [])
            throw rejected(GatewayError(error), await assessRejected(request, http), request, http)
        }
    }

    /// The request for a turn of a client's conversation. `conversation`: the stored one to continue; nil begins one.
    func prepare(
        _ input: ClientConversation, model name: String, in conversation: ConversationID? = nil, _ http: TurnHTTPRequest
    ) async throws -> (request: TurnRequest, assessment: PendingAssessment) {
        var request = request(input)
        request.conversationID = conversation
        let assessment = await http.trace.step("assess") { await assess(request, http) }
        let model = try await model(name, request, assessment, http)
        request.personaID = model.personaID
        request.personaSlug = model.slug
        do throws(JSONFinding) {
            request.idempotencyKey = try IdempotencyKey.resolve(header: http.idempotencyKey, body: nil)?.text
        } catch {
            throw rejected(GatewayError(error), await assessment.final.risk, request, http)
        }
        return (request, assessment)
    }

    /// Whether a request repeats one that has begun a turn.
    func isRepetition(
        _ request: TurnRequest, _ assessment: PendingAssessment, _ http: TurnHTTPRequest
    ) async throws(GatewayError) -> Bool {
        guard http.mayRepeat else { return false }
        do {
            return try await repository.repeated(http.caller, request) != nil
        } catch {
            throw failure(error, await assessment.final.risk, request, http)
        }
    }

    /// The request for a turn, without what the conversation does not say.
    func request(_ input: ClientConversation) -> TurnRequest {
        request(input.message, history: input.history, clientTexts: input.clientTexts)
    }

    private func request(_ message: String, history: [HistoryMessage], clientTexts: [String]) -> TurnRequest {
        let supplied = SuppliedContext(history: history, clientTexts: clientTexts, showsConcern: showsConcern(history))
        return TurnRequest(message: message, source: .openai, supplied: supplied)
    }

    /// The newest message alone has a tier; earlier ones raise the stored level to 1 at most.
    private func showsConcern(_ history: [HistoryMessage]) -> Bool {
        var room = Self.assessedBytes
        for message in history.suffix(Self.assessedMessages).reversed() where message.role == .user && room > 0 {
            if coaching.assessor.assess(message.content).risk.tier > .none { return true }
            room -= message.content.utf8.count
        }
        return false
    }

    /// An unknown model is 404, but for a user in danger: they get the plain coach, as for an unknown persona (CONTRACT §4).
    private func model(
        _ name: String, _ request: TurnRequest, _ assessment: PendingAssessment, _ http: TurnHTTPRequest
    ) async throws -> CoachModel {
        if let model = CoachModel(name) { return model }
        try await throwUnlessInDanger(.unknownModel, request, assessment, http)
        return .plain
    }

    /// Waits for the end of a turn.
    func ending(of subscription: TurnSubscription) async throws(GatewayError) -> TurnEnding {
        if let ending = await subscription.turn.ending(within: models.longestTurn) { return ending }
        throw begun(GatewayError(.overloaded, "the turn has not ended in time"), subscription)
    }

    /// The error of a turn that ended without a finish reason.
    func failure(_ ending: TurnEnding, _ subscription: TurnSubscription) -> GatewayError {
        let turn = subscription.turn
        let kept = turn.releasedBytes
        let failure = TerminalEvents(facts: turn.facts, ending: ending, keptBytes: kept, cursor: kept).failure
        return begun(GatewayError(failure.code, failure.message, retryAfter: failure.retryAfter), subscription)
    }

    private func begun(_ error: GatewayError, _ subscription: TurnSubscription) -> GatewayError {
        var error = rejected(error, subscription.turn)
        error.hasBegunTurn = true
        return error
    }

    /// The card of a turn as the beginning of its text; empty below tier 2.
    func cardText(of turn: LiveTurn) -> String { card(of: turn).map { $0.text + "\n\n" } ?? "" }
}
