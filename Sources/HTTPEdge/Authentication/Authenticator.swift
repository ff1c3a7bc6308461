import CoachCore
import Foundation
import GatewayAPI
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
    let refused = RefusedCallers()

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

    /// Counts one request of the caller. Throws when the limit is reached, the user is suspended, or the database is unavailable.
    func count(_ caller: Caller, isOfTurn: Bool, acceptLanguage: String?, _ report: (any Error) -> GatewayError) async throws(GatewayError)
        -> CountedRequest
    {
        do {
            return try await counter.take(caller, isOfTurn)
        } catch {
            var clientError = report(error)
            if let rejection = (error as? CountedRejection)?.rejection {
                refused.insert(caller.userID, seconds: rejection.retryAfter ?? 60)
                clientError.safety = resources(stored: rejection.safetyLevel, rejection.region, acceptLanguage)
            } else {
                let recent = recentDanger(caller.userID)
                clientError.safety = resources(stored: recent.level, recent.region, acceptLanguage)
            }
            throw clientError
        }
    }

    /// Adds the rate limit, and crisis resources when the stored level is above calm, unless the error has its own.
    func complete(_ error: GatewayError, with counted: CountedRequest, acceptLanguage: String?) -> GatewayError {
        var error = error
        error.rate = error.rate ?? counted.rate
        return error.with(safety: resources(stored: counted.safetyLevel, counted.region, acceptLanguage), inProfile: counted.region)
    }

    private func resources(stored level: SafetyLevel, _ profile: Region, _ acceptLanguage: String?) -> StreamSafety? {
        crisisResources.resources(stored: level, in: Region(firstOf: [profile, AcceptLanguage.region(acceptLanguage)]))
    }
}
