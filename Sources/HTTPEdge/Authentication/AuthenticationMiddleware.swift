import CoachCore
import GatewayAPI
import HTTPTypes
import Hummingbird

/// Which step counts an authenticated request against the caller's limit.
public enum RequestCounting: Sendable {
    /// The middleware, before the handler runs and reads the body.
    case beforeHandler
    /// For a GET that changes nothing: the middleware, while the handler runs, which saves a round trip to the database. The handler's answer is
    /// dropped when the request is rejected, and the handler runs again for a user who is new, because it may not have seen their row. Other
    /// methods and operators' requests are counted as with `beforeHandler`.
    case besideHandler
    /// For a request of a turn: as `beforeHandler`; but the limit does not apply to users in danger, and if the database is unavailable, or has not
    /// answered within half a second, the handler runs without counting, or while the database counts.
    case beforeHandlerIfPossible
    /// For a request that begins a turn: the handler, in its own round trip to the database. The middleware counts only requests that the handler
    /// rejects before that.
    case byHandler
}

/// Authenticates, counts and checks the role. Errors to users with a stored safety level get crisis resources.
struct AuthenticationMiddleware: RouterMiddleware {
    let authenticator: Authenticator
    let errors: ErrorReporter
    let counting: RequestCounting
    let role: Role?

    func handle(_ request: Request, context: GatewayContext, next: @concurrent (Request, GatewayContext) async throws -> Response)
        async throws -> Response
    {
        let caller = try await caller(request, context)
        let (state, answer): (Authentication.Counting, Result<Response, any Error>)
        switch counting {
        case .besideHandler where !authenticator.rejected.contains(caller.userID):
            (state, answer) = try await handleBesideCounting(caller, request, context, next)
        case .beforeHandler, .besideHandler:
            state = .counted(try await count(caller, request, context))
            answer = await handle(state, caller, request, context, next)
        case .beforeHandlerIfPossible:
            state = try await countIfPossible(caller, request, context)
            answer = await handle(state, caller, request, context, next)
        case .byHandler:
            state = .pending
            answer = await handle(state, caller, request, context, next)
        }
        switch answer {
        case .success(let response): return response
        case .failure(let error):
            let error = errors.clientError(for: error, requestID: context.requestID)
            throw await complete(error, state, caller, request, context)
        }
    }

    private func handle(
        _ state: Authentication.Counting, _ caller: Caller, _ request: Request, _ context: GatewayContext,
        _ next: @concurrent (Request, GatewayContext) async throws -> Response
    ) async -> Result<Response, any Error> {
        var context = context
        context.authentication = Authentication(caller: caller, counting: state)
        do {
            if let role, caller.role != role { throw GatewayError(.forbidden, "this route requires the role \(role)") }
            return .success(try await next(request, context))
        } catch {
            return .failure(error)
        }
    }

    private func handleBesideCounting(
        _ caller: Caller, _ request: Request, _ context: GatewayContext,
        _ next: @concurrent (Request, GatewayContext) async throws -> Response
    ) async throws -> (Authentication.Counting, Result<Response, any Error>) {
        async let counting = count(caller, request, context)
        // To its end, also when the request is rejected meanwhile: later ones of the caller do not begin.
        var answer = await handle(.pending, caller, request, context, next)
        let counted = try await counting
        if counted.isNewUser { answer = await handle(.pending, caller, request, context, next) }
        return (.counted(counted), answer)
    }

    /// Operators' routes alone have sessions.
    private func caller(_ request: Request, _ context: GatewayContext) async throws(GatewayError) -> Caller {
        let authorization = request.headers[.authorization]
        if role == .operator, authorization == nil, let caller = try await authenticator.sessionCaller(request, errors, context) {
            return caller
        }
        return try await authenticator.tokenCaller(authorization, request, context)
    }

    /// How long the handler waits for the count: a stop must not wait for a database that hangs (CONTRACT §4: 3 s in all).
    private static let patience = Duration.milliseconds(500)

    private func countIfPossible(
        _ caller: Caller, _ request: Request, _ context: GatewayContext
    ) async throws(GatewayError) -> Authentication.Counting {
        let (results, continuation) = AsyncStream.makeStream(of: Result<CountedRequest, GatewayError>.self)
        // Not a child of the request, which goes on without it. Never cancelled; the time limits of the database's client end it.
        let counting = Task { () -> Result<CountedRequest, GatewayError> in
            let result: Result<CountedRequest, GatewayError>
            do throws(GatewayError) {
                result = .success(try await count(caller, request, context))
            } catch {
                result = .failure(error)
            }
            continuation.yield(result)
            return result
        }
        switch await results.first(within: Self.patience) {
        case .success(let counted): return .counted(counted)
        case .failure(let error):
            guard error.code == .databaseUnavailable else { throw error }
            return .failed(error)
        case nil: return .running(counting)
        }
    }

    /// Adds crisis resources to an error. With `RequestCounting.byHandler`, an error that came before the handler counted is
    /// counted here, unless the database is unavailable; if that reaches the limit, the limit's error replaces it.
    private func complete(
        _ error: GatewayError, _ state: Authentication.Counting, _ caller: Caller, _ request: Request, _ context: GatewayContext
    ) async -> GatewayError {
        let acceptLanguage = request.headers[.acceptLanguage]
        switch state {
        case .counted(let counted): return authenticator.complete(error, with: counted, acceptLanguage: acceptLanguage)
        case .failed(let failure): return error.with(safety: failure.safety)
        case .running(let counting):
            switch await counting.value {
            case .success(let counted): return authenticator.complete(error, with: counted, acceptLanguage: acceptLanguage)
            case .failure(let failure): return error.with(safety: failure.safety)
            }
        case .pending:
            let isCounted = context.rateLimit.current != nil || error.rate != nil
            guard !isCounted, error.code != .databaseUnavailable else { return error.with(safety: nil) }
            do throws(GatewayError) {
                return authenticator.complete(error, with: try await count(caller, request, context), acceptLanguage: acceptLanguage)
            } catch let rejection {
                guard rejection.code != .databaseUnavailable else { return error.with(safety: rejection.safety) }
                var rejection = rejection
                rejection.safety = error.with(safety: rejection.safety).safety
                return rejection
            }
        }
    }

    private func count(_ caller: Caller, _ request: Request, _ context: GatewayContext) async throws(GatewayError) -> CountedRequest {
        let isOfTurn =
            switch counting {
            case .beforeHandler, .besideHandler: false
            case .beforeHandlerIfPossible, .byHandler: true
            }
        return try await authenticator.count(caller, isOfTurn: isOfTurn, request, context, errors)
    }
}
