import CoachCore
import Foundation
import GatewayAPI
import Identity
import JSON

/// From the wire to a turn that is begun: who asks, what is asked, is anybody in danger, may it happen.
extension TurnPipeline {
    /// Step 1: the token, in memory.
    func authenticate(_ httpRequest: TurnHTTPRequest) async throws(GatewayError) -> Caller {
        do {
            return try await identity.authenticate(httpRequest.authorization, now: Date())
        } catch {
            throw GatewayError(error)
        }
    }

    /// Step 2: the body, validated once; inside there is nothing malformed.
    func parse(_ httpRequest: TurnHTTPRequest, by caller: Caller) async throws(GatewayError) -> TurnRequest {
        let body: ChatRequest
        let key: IdempotencyKey?
        do throws(JSONFinding) {
            body = try ChatRequest.parse(httpRequest.body)
            key = try IdempotencyKey.resolve(header: httpRequest.idempotencyKey, body: body.clientMessageID)
        } catch {
            throw refused(error, httpRequest)
        }
        let request = TurnRequest(
            message: body.message, conversationID: body.conversationID.map(ConversationID.init),
            personaID: body.personaID.map(PersonaID.init), shareToken: body.shareToken, pinnedDomain: body.domain.flatMap(Domain.init),
            idempotencyKey: key?.text, locale: body.locale, country: body.country)
        // Nobody in danger is turned away over a domain; the router finds one.
        if body.domain != nil, request.pinnedDomain == nil, assess(request).risk.tier < .crisis {
            let counted = try await count(caller, httpRequest)
            if counted.safetyLevel == .calm {
                var error = GatewayError(.personaOrDomainUnavailable, "there is no such domain").naming(field: "domain")
                error.rate = counted.rate
                throw error
            }
        }
        return request
    }

    /// Step 3: danger and topic, in one pass, without the database.
    func assess(_ request: TurnRequest) -> MessageAssessment { coaching.assessor.assess(request.message) }

    /// Step 4: one round trip. The user's message is saved when this returns `begun`.
    func begin(
        _ caller: Caller, _ request: TurnRequest, _ assessment: MessageAssessment, _ httpRequest: TurnHTTPRequest
    ) async throws(GatewayError) -> BeginTurnResult {
        do {
            do {
                try admission.check()
            } catch {
                // Who asks again for a turn that exists takes no place.
                guard let known = try? await repository.repeated(caller, request) else { throw error }
                return known
            }
            return try await repository.begin(caller, request, assessment)
        } catch {
            var error = understood(error)
            error.safety = coaching.crisisResources(assessment.risk, at: Region(request, acceptLanguage: httpRequest.acceptLanguage))
            throw error
        }
    }

    /// One request of the caller's minute.
    func count(_ caller: Caller, _ httpRequest: TurnHTTPRequest) async throws(GatewayError) -> CountedRequest {
        do {
            return try await counter.take(caller)
        } catch let counted as CountedRejection {
            throw rejection(counted.rejection, counted.rate, httpRequest)
        } catch {
            throw understood(error)
        }
    }

    /// The rest of an authenticated request. What refuses it before it was counted is counted here: then it says what is left of the minute,
    /// and carries resources when the stored state tells of danger.
    func counting<Answer>(
        _ caller: Caller, _ httpRequest: TurnHTTPRequest, _ body: () async throws(GatewayError) -> Answer
    ) async throws(GatewayError) -> Answer {
        do throws(GatewayError) {
            return try await body()
        } catch {
            // Without its database there is nothing to ask.
            guard error.rate == nil, error.code != .databaseUnavailable else { throw error }
            var rejection = error
            do throws(GatewayError) {
                let counted = try await count(caller, httpRequest)
                rejection.rate = counted.rate
                if rejection.safety == nil { rejection.safety = crisisResources(counted, httpRequest) }
            } catch {
                if error.code != .databaseUnavailable { rejection = error }
            }
            throw rejection
        }
    }

    /// Resources for somebody of whom only the stored state tells that he is in danger.
    func crisisResources(_ counted: CountedRequest, _ httpRequest: TurnHTTPRequest) -> StreamSafety? {
        let profile = Region(country: counted.country, locale: counted.locale)
        return coaching.crisisResources(
            .calm, stored: counted.safetyLevel,
            at: Region(TurnRequest(message: ""), profile: profile, acceptLanguage: httpRequest.acceptLanguage))
    }

    /// The same for a request that brings no message.
    func rejection(_ rejection: Rejection, _ rate: RateLimit, _ httpRequest: TurnHTTPRequest) -> GatewayError {
        self.rejection(rejection, rate, TurnRequest(message: ""), MessageAssessment(risk: .calm, domains: .zero), httpRequest)
    }

    /// What a refusal of the database looks like from outside. Whoever is in danger gets resources with it.
    func rejection(
        _ rejection: Rejection, _ rate: RateLimit, _ request: TurnRequest, _ assessment: MessageAssessment, _ httpRequest: TurnHTTPRequest
    ) -> GatewayError {
        var error = GatewayError(rejection)
        error.rate = rate
        error.safety = coaching.crisisResources(
            coaching.fusion.fuse(assessment.risk, stored: rejection.safetyLevel).risk, stored: rejection.safetyLevel,
            at: Region(
                request, profile: Region(country: rejection.country, locale: rejection.locale), acceptLanguage: httpRequest.acceptLanguage))
        return error
    }

    /// A body that cannot be accepted may still hold a cry for help: then the refusal carries resources.
    private func refused(_ error: JSONFinding, _ httpRequest: TurnHTTPRequest) -> GatewayError {
        var rejection = GatewayError(error)
        guard let body = try? JSONDocument(parsing: httpRequest.body).value, let message = body["message"]?.string else { return rejection }
        let said = TurnRequest(message: message, locale: body["locale"]?.string, country: body["country"]?.string)
        rejection.safety = coaching.crisisResources(
            coaching.assessor.assess(message).risk, at: Region(said, acceptLanguage: httpRequest.acceptLanguage))
        return rejection
    }

    /// What a port threw, as a client is told it; what nobody foresaw is logged.
    func understood(_ error: any Error) -> GatewayError {
        if case StoreFault.unexpected(let reason)? = error as? StoreFault {
            finalizer.logger.error("a port failed", metadata: ["error": "\(reason)"])
        }
        if let known = GatewayError(known: error) { return known }
        finalizer.logger.error("a port failed", metadata: ["error": "\(type(of: error))"])
        return GatewayError(.unforeseen, "unforeseen error")
    }
}
