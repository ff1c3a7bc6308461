import CoachCore
import EventStream
import Foundation
import GatewayAPI
import Identity

/// From the wire to a turn that is begun: who asks, what is asked, is anybody in danger, may it happen.
extension TurnPipeline {
    /// Step 1: the token, in memory.
    func authenticate(_ ask: TurnAsk) async throws(GatewayError) -> Caller {
        do {
            return try await identity.authenticate(ask.authorization, now: Date())
        } catch {
            throw GatewayError(error)
        }
    }

    /// Step 2: the body, validated once; inside there is nothing malformed.
    func parse(_ ask: TurnAsk, by caller: Caller) async throws(GatewayError) -> TurnRequest {
        let body: ChatRequest
        let key: IdempotencyKey?
        do throws(RequestBodyError) {
            body = try ChatRequest.parse(ask.body)
            key = try IdempotencyKey.resolve(header: ask.idempotencyKey, body: body.clientMessageID)
        } catch {
            throw refused(error, ask)
        }
        let request = TurnRequest(
            message: body.message, conversationID: body.conversationID.map(ConversationID.init),
            personaID: body.personaID.map(PersonaID.init), shareToken: body.shareToken, pinnedDomain: body.domain.flatMap(Domain.init),
            idempotencyKey: key?.text, locale: body.locale, country: body.country)
        // Nobody in danger is turned away over a domain; the router finds one.
        if body.domain != nil, request.pinnedDomain == nil, assess(request).risk.tier < .crisis {
            let counted = try await count(caller, ask)
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
        _ caller: Caller, _ request: TurnRequest, _ assessment: MessageAssessment, _ ask: TurnAsk
    ) async throws(GatewayError) -> TurnOpening {
        do {
            do {
                try admission.check()
            } catch {
                // Who asks again for a turn that exists takes no place.
                guard let known = try? await ledger.repeated(caller, request) else { throw error }
                return known
            }
            return try await ledger.begin(caller, request, assessment)
        } catch {
            var error = understood(error)
            error.safety = coaching.consolation(assessment.risk, at: Whereabouts(request, acceptLanguage: ask.acceptLanguage))
            throw error
        }
    }

    /// One request of the caller's minute.
    func count(_ caller: Caller, _ ask: TurnAsk) async throws(GatewayError) -> CountedRequest {
        do {
            return try await counter.take(caller)
        } catch let counted as CountedRefusal {
            throw refusal(counted.refusal, counted.rate, ask)
        } catch {
            throw understood(error)
        }
    }

    /// The rest of an authenticated request. What refuses it before it was counted is counted here: then it says what is left of the minute,
    /// and carries resources when the stored state tells of danger.
    func counting<Answer>(
        _ caller: Caller, _ ask: TurnAsk, _ body: () async throws(GatewayError) -> Answer
    ) async throws(GatewayError) -> Answer {
        do throws(GatewayError) {
            return try await body()
        } catch {
            // Without its database there is nothing to ask.
            guard error.rate == nil, error.code != .databaseUnavailable else { throw error }
            var refusal = error
            do throws(GatewayError) {
                let counted = try await count(caller, ask)
                refusal.rate = counted.rate
                if refusal.safety == nil { refusal.safety = consolation(counted, ask) }
            } catch {
                if error.code != .databaseUnavailable { refusal = error }
            }
            throw refusal
        }
    }

    /// Resources for somebody of whom only the stored state tells that he is in danger.
    func consolation(_ counted: CountedRequest, _ ask: TurnAsk) -> StreamSafety? {
        let profile = Whereabouts(country: counted.country, locale: counted.locale)
        return coaching.consolation(
            .calm, stored: counted.safetyLevel,
            at: Whereabouts(TurnRequest(message: ""), profile: profile, acceptLanguage: ask.acceptLanguage))
    }

    /// The same for a request that brings no message.
    func refusal(_ refusal: Refusal, _ rate: RateLimit, _ ask: TurnAsk) -> GatewayError {
        self.refusal(refusal, rate, TurnRequest(message: ""), MessageAssessment(risk: .calm, domains: .zero), ask)
    }

    /// What a refusal of the database looks like from outside. Whoever is in danger gets resources with it.
    func refusal(
        _ refusal: Refusal, _ rate: RateLimit, _ request: TurnRequest, _ assessment: MessageAssessment, _ ask: TurnAsk
    ) -> GatewayError {
        var error = GatewayError(refusal)
        error.rate = rate
        error.safety = coaching.consolation(
            coaching.fusion.fuse(assessment.risk, stored: refusal.safetyLevel).risk, stored: refusal.safetyLevel,
            at: Whereabouts(
                request, profile: Whereabouts(country: refusal.country, locale: refusal.locale), acceptLanguage: ask.acceptLanguage))
        return error
    }

    /// A body that cannot be accepted may still hold a cry for help: then the refusal carries resources.
    private func refused(_ error: RequestBodyError, _ ask: TurnAsk) -> GatewayError {
        var refusal = GatewayError(error)
        guard let body = try? JSONDocument(parsing: ask.body).value, let message = body["message"]?.string else { return refusal }
        let said = TurnRequest(message: message, locale: body["locale"]?.string, country: body["country"]?.string)
        refusal.safety = coaching.consolation(
            coaching.assessor.assess(message).risk, at: Whereabouts(said, acceptLanguage: ask.acceptLanguage))
        return refusal
    }

    /// What a port threw, as a client is told it; what nobody foresaw is logged.
    func understood(_ error: any Error) -> GatewayError {
        if case StoreFault.unexpected(let reason)? = error as? StoreFault {
            settlement.logger.error("a port failed", metadata: ["error": "\(reason)"])
        }
        if let known = GatewayError(known: error) { return known }
        settlement.logger.error("a port failed", metadata: ["error": "\(type(of: error))"])
        return GatewayError(.unforeseen, "unforeseen error")
    }
}
