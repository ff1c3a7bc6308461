import CoachCore
import Foundation
import GatewayAPI
import HTTPTypes
import Hummingbird
import Identity

/// Verifies the tokens and sessions of requests, counts requests against their limits, and adds crisis resources to the errors of users in
/// danger. `AuthenticationMiddleware` calls it.
public struct Authenticator: Sendable {
    private let identity: TokenVerifier
    let sessions: SessionAuthentication
    private let counter: RequestCounter
    private let crisisResources: CrisisResources
    /// What this instance knows of a user's stored level while the database is away.
    private let recentDanger: @Sendable (UserID) -> (level: SafetyLevel, region: Region)
    let unauthenticated: UnauthenticatedRequestLimiter
    let rejected = RejectedCallers()

    public init(
        identity: TokenVerifier, sessions: SessionAuthentication, counter: RequestCounter, crisisResources: CrisisResources,
        recentDanger: @escaping @Sendable (UserID) -> (level: SafetyLevel, region: Region),
        unauthenticated: UnauthenticatedRequestLimiter
    ) {
        self.identity = identity
        self.sessions = sessions
        self.counter = counter
        self.crisisResources = crisisResources
        self.recentDanger = recentDanger
        self.unauthenticated = unauthenticated
    }

    /// Verifies the token of an `Authorization` header. Suspends only while the key set is reloaded.
    func authenticate(_ authorization: String?) async throws(GatewayError) -> Caller {
        do throws(TokenRejection) {
            return try await identity.authenticate(authorization, now: Date())
        } catch {
            throw GatewayError(error)
        }
    }

    /// Counts one request of the caller and records the limit for the response. Throws when the limit is reached, the user is suspended, or the
    /// database is unavailable.
    func count(
        _ caller: Caller, isOfTurn: Bool, _ request: Request, _ context: some EdgeContext, _ errors: ErrorReporter
    ) async throws(GatewayError) -> CountedRequest {
        do {
            let counted = try await counter.take(caller, isOfTurn)
            context.rateLimit.record(counted.rate)
            return counted
        } catch {
            let acceptLanguage = request.headers[.acceptLanguage]
            var clientError = errors.clientError(for: error, requestID: context.requestID)
            if let rejection = (error as? CountedRejection)?.rejection {
                rejected.insert(caller.userID, seconds: rejection.retryAfter ?? 60)
                clientError.safety = resources(stored: rejection.safetyLevel, rejection.region, acceptLanguage)
            } else {
                let recent = recentDanger(caller.userID)
                clientError.safety = resources(stored: recent.level, recent.region, acceptLanguage)
            }
            throw clientError
        }
    }

    /// Adds crisis resources when the stored level is above calm, unless the error has its own.
    func complete(_ error: GatewayError, with counted: CountedRequest, acceptLanguage: String?) -> GatewayError {
        error.with(
            safety: resources(stored: counted.safetyLevel, counted.region, acceptLanguage), stored: counted.safetyLevel,
            inProfile: counted.region)
    }

    private func resources(stored level: SafetyLevel, _ profile: Region, _ acceptLanguage: String?) -> StreamSafety? {
        crisisResources.resources(stored: level, in: Region(firstOf: [profile, AcceptLanguage.region(acceptLanguage)]))
    }
}
