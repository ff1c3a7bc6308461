import CoachCore
import HTTPTypes
import Hummingbird

/// A set of routes that can be added to the application or left out.
public protocol Feature: Sendable {
    func register(on routes: RouteTable)
}

/// Collects the routes of all features at start-up, then installs them on Hummingbird's router.
public final class RouteTable {
    struct Entry {
        var method: HTTPRequest.Method
        var path: String
        var description: RouteDescription
        var install: (Router<GatewayContext>, HTTPRequest.Method) -> Void
    }

    let authenticator: Authenticator
    /// For responses that are written after their handler has ended.
    public let errors: ErrorReporter
    let idempotency: IdempotentRequests
    private(set) var entries: [Entry] = []

    init(authenticator: Authenticator, errors: ErrorReporter, idempotency: IdempotentRequests) {
        self.authenticator = authenticator
        self.errors = errors
        self.idempotency = idempotency
    }

    /// Sessions of operators in a browser, for their pages.
    public var browserSessions: BrowserSessions { BrowserSessions(authenticator: authenticator, errors: errors) }

    /// Routes without authentication. `tag` is their section in the OpenAPI document; `addressLimit`: which requests count against the limit of
    /// their address.
    public func open(_ tag: String, addressLimit: AddressLimit = .everyRequest) -> RouteGroup<GatewayContext> {
        RouteGroup(table: self, tag: tag, addressLimit: addressLimit)
    }

    /// A group of routes for authenticated users. `tag`: their section in the OpenAPI document.
    public func authenticated(_ tag: String) -> RouteGroup<AuthenticatedContext> {
        RouteGroup(table: self, tag: tag, counting: .besideHandler, role: nil)
    }

    func append(_ entry: Entry) { entries.append(entry) }

    /// Installs every route, with each GET whose response is no stream a HEAD (RFC 9110 §9.1), and for every other method of its path the answer 405
    /// with `Allow`.
    func install(on router: Router<GatewayContext>) {
        for (path, entries) in Dictionary(grouping: entries, by: \.path) {
            var methods = entries.map(\.method)
            for entry in entries {
                entry.install(router, entry.method)
                guard entry.method == .get, !entry.description.response.mayBeStream else { continue }
                entry.install(router, .head)
                methods.append(.head)
            }
            let allowed = methods.map(\.rawValue).sorted().joined(separator: ", ")
            for method in HTTPRequest.Method.parsed where !methods.contains(method) {
                router.on(RouterPath(path), method: method) { _, _ -> Response in
                    var error = GatewayError(.methodNotAllowed, "this route does not support the method")
                    error.headers.append(("Allow", allowed))
                    throw error
                }
            }
        }
    }
}

extension HTTPRequest.Method {
    /// Every method of NIO's parser but OPTIONS, which `EdgeMiddleware` answers for all routes. NIO writes M-SEARCH without its hyphen.
    fileprivate static let parsed = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "ACL", "BIND", "CHECKOUT", "COPY", "LINK", "LOCK", "MSEARCH",
        "MERGE", "MKACTIVITY", "MKCALENDAR", "MKCOL", "MOVE", "NOTIFY", "PROPFIND", "PROPPATCH", "PURGE", "QUERY", "REBIND", "REPORT",
        "SEARCH", "SOURCE", "SUBSCRIBE", "UNBIND", "UNLINK", "UNLOCK", "UNSUBSCRIBE",
    ].compactMap { HTTPRequest.Method($0) }
}
