import CoachCore
import HTTPTypes
import Hummingbird

/// Callers of requests. One without a valid token or session counts against the limit of its address.
extension Authenticator {
    /// Verifies a token, the value of an `Authorization` header.
    func tokenCaller(
        _ authorization: String?, _ request: Request, _ context: some EdgeContext
    ) async throws(GatewayError) -> Caller {
        do {
            return try await authenticate(authorization)
        } catch {
            try await countRejected(error, request, context)
            throw error
        }
    }

    /// Finds the session of the request's cookie; nil without a cookie.
    ///
    /// From an address over its limit no cookie is looked up, not even one of a session: anybody can make up cookies, and each would cost a query.
    func sessionCaller(
        _ request: Request, _ errors: ErrorReporter, _ context: some EdgeContext
    ) async throws(GatewayError) -> Caller? {
        guard let token = SessionCookie.token(in: request.headers) else { return nil }
        try await unauthenticated.check(request.headers, from: context.channel)
        do {
            return try await sessions.caller(of: token, request, errors, context)
        } catch {
            try await countRejected(error, request, context)
            throw error
        }
    }

    /// Counts a rejected request; throws when that reaches the limit of its address. Failures of the gateway, its database or the issuer of its keys
    /// do not count.
    func countRejected(_ error: GatewayError, _ request: Request, _ context: some EdgeContext) async throws(GatewayError) {
        guard error.httpStatus < 500 else { return }
        try await unauthenticated.count(request.headers, from: context.channel)
    }
}
