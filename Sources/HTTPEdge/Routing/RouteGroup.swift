import CoachCore
import HTTPTypes
import Hummingbird

/// Declares routes with the same access rules: open, or authenticated with a role. Each declaration adds a handler and its entry in the
/// OpenAPI document.
public struct RouteGroup<Context: EdgeContext> {
    public typealias Handler = @Sendable (Request, Context) async throws -> Response

    let table: RouteTable
    private let tag: String
    private let security: RouteDescription.Security
    private let group: (Router<GatewayContext>, HTTPRequest.Method) -> RouterGroup<Context>

    public func get(_ path: String, _ description: RouteDescription, _ handler: @escaping Handler) { on(.get, path, description, handler) }
    public func post(_ path: String, _ description: RouteDescription, _ handler: @escaping Handler) {
        on(.post, path, description, handler)
    }
    public func put(_ path: String, _ description: RouteDescription, _ handler: @escaping Handler) { on(.put, path, description, handler) }
    public func patch(_ path: String, _ description: RouteDescription, _ handler: @escaping Handler) {
        on(.patch, path, description, handler)
    }
    public func delete(_ path: String, _ description: RouteDescription, _ handler: @escaping Handler) {
        on(.delete, path, description, handler)
    }

    private func on(_ method: HTTPRequest.Method, _ path: String, _ description: RouteDescription, _ handler: @escaping Handler) {
        var description = description
        description.tag = tag
        description.security = security
        let readsBody = description.body != nil || !description.uploads.isEmpty
        let queries = Set(description.parameters.filter { $0.location == .query }.map(\.name))
        table.append(
            .init(method: method, path: path, description: description) { router, method in
                group(router, method).on(RouterPath(path), method: method) { request, context in
                    // Others have the limit of their own body.
                    if !readsBody { try request.checkLength() }
                    try request.checkQuery()
                    return try await handler(request.keeping(queries: queries), context)
                }
            })
    }
}

extension RouteGroup where Context == GatewayContext {
    init(table: RouteTable, tag: String, addressLimit: AddressLimit) {
        let middleware = AddressLimitMiddleware(unauthenticated: table.authenticator.unauthenticated, counted: addressLimit)
        self.init(table: table, tag: tag, security: .open) { router, _ in router.group().add(middleware: middleware) }
    }
}

extension RouteGroup where Context == AuthenticatedContext {
    init(table: RouteTable, tag: String, counting: RequestCounting, role: Role?) {
        let (authenticator, errors) = (table.authenticator, table.errors)
        self.init(table: table, tag: tag, security: .authenticated(counting, role)) { router, method in
            let counting = counting.ofRoute(method, role)
            return router.group()
                .add(middleware: AuthenticationMiddleware(authenticator: authenticator, errors: errors, counting: counting, role: role))
                .group(context: AuthenticatedContext.self)
        }
    }

    /// A group whose routes only callers with this role may use; others get 403 `AUTH_1003`.
    public func require(_ role: Role) -> Self { RouteGroup(table: table, tag: tag, counting: security.counting, role: role) }

    /// A group whose requests are counted in another way.
    public func counting(_ counting: RequestCounting) -> Self {
        RouteGroup(table: table, tag: tag, counting: counting, role: security.role)
    }
}

extension RequestCounting {
    /// How a route of a group with this counting counts. An operator's GETs are expensive, so that none begins before it is counted.
    fileprivate func ofRoute(_ method: HTTPRequest.Method, _ role: Role?) -> RequestCounting {
        if case .besideHandler = self, method != .get && method != .head || role == .operator { return .beforeHandler }
        return self
    }
}
