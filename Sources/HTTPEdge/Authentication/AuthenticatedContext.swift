import CoachCore
import Hummingbird
import NIOCore

/// The context of an authenticated request: its token is verified, and the route's ``RequestCounting`` decided whether it counts against
/// the caller's limit.
public struct AuthenticatedContext: EdgeContext, ChildRequestContext {
    public var coreContext: CoreRequestContextStorage
    public let channel: any Channel
    public let requestID: String
    public let arrivedAt: ContinuousClock.Instant
    public let rateLimit: ResponseRateLimit
    public let caller: Caller
    private let counting: Authentication.Counting

    /// Throws `AUTH_1002` when ``AuthenticationMiddleware`` did not run before.
    public init(context: GatewayContext) throws {
        guard let authentication = context.authentication else {
            throw GatewayError(.unauthenticated, "an Authorization header with a bearer token is required")
        }
        coreContext = context.coreContext
        channel = context.channel
        requestID = context.requestID
        arrivedAt = context.arrivedAt
        rateLimit = context.rateLimit
        caller = authentication.caller
        counting = authentication.counting
    }

    /// For routes with ``RequestCounting/beforeHandlerIfPossible``: throws the database's error when the request could not be counted, for which it
    /// waits. Call it before a query: a query would fail too, and the client would wait twice as long for the error.
    public func requireCounted() async throws(GatewayError) {
        switch counting {
        case .counted, .pending: return
        case .failed(let error): throw error
        case .running(let counting): _ = try await counting.value.get()
        }
    }
}

/// The result of ``AuthenticationMiddleware``: the caller, and whether the request was counted.
struct Authentication: Sendable {
    enum Counting: Sendable {
        case counted(CountedRequest)
        /// Not counted yet: the handler counts, or the middleware while it runs.
        case pending
        /// The database was unavailable and the route tolerates it.
        case failed(GatewayError)
        /// The database has not answered yet and the route tolerates it.
        case running(Task<Result<CountedRequest, GatewayError>, Never>)
    }

    var caller: Caller
    var counting: Counting
}
