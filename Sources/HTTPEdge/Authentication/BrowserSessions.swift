import CoachCore
import Foundation
import GatewayAPI
import HTTPTypes
import Hummingbird
import Identity

/// Sessions of operators in a browser: a cookie in place of the token, for the routes of operators and their pages only (CONTRACT §5).
public struct BrowserSessions: Sendable {
    let authenticator: Authenticator
    let errors: ErrorReporter

    /// Opens a session with an operator's token, the value of an `Authorization` header. Throws what a request with this token would get.
    public func open(
        _ authorization: String?, _ request: Request, _ context: some EdgeContext
    ) async throws(GatewayError) -> (setCookie: String, expiresAt: Date) {
        try checkOrigin(request, required: false)
        let caller = try await authenticator.tokenCaller(authorization, request, context)
        try await count(caller, request, context)
        guard caller.role == .operator else { throw GatewayError(.forbidden, "only operators have sessions") }
        let token = SessionToken.random(for: caller.userID)
        do {
            try await authenticator.sessions.store.open(caller, token)
        } catch {
            throw errors.clientError(for: error, requestID: context.requestID)
        }
        let cookie = SessionCookie.setting(token, until: caller.expiresAt, now: Date(), isSecure: isSecure(request))
        return (cookie, caller.expiresAt)
    }

    /// When the session of the request's cookie ends. Throws when there is none, or its user is suspended. A cookie of no session counts against
    /// the limit of its address.
    public func expiry(_ request: Request, _ context: some EdgeContext) async throws(GatewayError) -> Date {
        guard let caller = try await authenticator.sessionCaller(request, errors, context) else { throw .noSession }
        try await count(caller, request, context)
        return caller.expiresAt
    }

    /// Ends the session of the request's cookie; returns the `Set-Cookie` header that removes the cookie. Throws for a foreign origin. The request
    /// counts against the limit of the session's user; one with a cookie of no session against that of its address, and past that limit none is
    /// looked up.
    public func close(_ request: Request, _ context: some EdgeContext) async throws(GatewayError) -> String {
        try checkOrigin(request, required: true)
        if let token = SessionCookie.token(in: request.headers) {
            let unauthenticated = authenticator.unauthenticated
            try await unauthenticated.check(request.headers, from: context.channel)
            let wasOpen: Bool
            do {
                wasOpen = try await authenticator.sessions.store.close(token)
            } catch {
                throw errors.clientError(for: error, requestID: context.requestID)
            }
            guard wasOpen else {
                try await unauthenticated.count(request.headers, from: context.channel)
                return SessionCookie.removing(isSecure: isSecure(request))
            }
            do throws(GatewayError) {
                try await count(.operatorSession(of: token.userID, until: Date()), request, context)
            } catch {
                // The session has ended, also past its user's limit.
                if let rate = error.rate { context.rateLimit.record(rate) }
            }
        }
        return SessionCookie.removing(isSecure: isSecure(request))
    }

    /// A check whether the session of the request's cookie goes on, for answers that last; true for a request with a token, and while the database is
    /// unavailable. Counts against no limit.
    public func continuation(of request: Request) -> @Sendable () async -> Bool {
        guard request.headers[.authorization] == nil, let token = SessionCookie.token(in: request.headers) else { return { true } }
        let store = authenticator.sessions.store
        return {
            do { return try await store.expiry(token) != nil } catch { return !(error is NotAllowed) }
        }
    }

    private func count(_ caller: Caller, _ request: Request, _ context: some EdgeContext) async throws(GatewayError) {
        _ = try await authenticator.count(caller, isOfTurn: false, request, context, errors)
    }

    private func checkOrigin(_ request: Request, required: Bool) throws(GatewayError) {
        try authenticator.sessions.checkOrigin(request, required: required)
    }

    private func isSecure(_ request: Request) -> Bool {
        !request.isLocal || authenticator.sessions.publicOrigin?.hasPrefix("https:") == true
    }
}

/// Finds the caller of a request by its session cookie, and checks the request's `Origin`.
public struct SessionAuthentication: Sendable {
    let store: OperatorSessions
    /// The origin at which browsers reach the gateway; nil when it is not configured.
    let publicOrigin: String?

    public init(store: OperatorSessions, publicOrigin: String?) {
        self.store = store
        self.publicOrigin = publicOrigin
    }

    /// The caller of a session. Throws for one that has ended, and for an unsafe method from a foreign origin.
    func caller(
        of token: SessionToken, _ request: Request, _ errors: ErrorReporter, _ context: some EdgeContext
    ) async throws(GatewayError) -> Caller {
        if request.method != .get, request.method != .head { try checkOrigin(request, required: true) }
        let expiresAt: Date?
        do {
            expiresAt = try await store.expiry(token)
        } catch {
            throw errors.clientError(for: error, requestID: context.requestID)
        }
        guard let expiresAt else { throw .noSession }
        return .operatorSession(of: token.userID, until: expiresAt)
    }

    /// Throws for a foreign `Origin`, and without one when it is required: browsers send it with every unsafe request.
    func checkOrigin(_ request: Request, required: Bool) throws(GatewayError) {
        if !required, request.headers[.origin] == nil { return }
        guard request.isSameOrigin(publicOrigin: publicOrigin) else {
            throw GatewayError(.forbidden, "an Origin header with this server's own origin is required")
        }
    }
}

extension GatewayError {
    fileprivate static let noSession = GatewayError(.unauthenticated, "there is no such session, or it has ended")
}
