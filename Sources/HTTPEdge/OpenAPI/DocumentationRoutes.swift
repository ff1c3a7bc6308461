import HTTPTypes
import Hummingbird

/// `GET /openapi.json` and `GET /docs`, rendered once from the declarations of all routes, these two included.
enum DocumentationRoutes {
    /// Registers both, after all other routes.
    static func register(on routes: RouteTable) {
        let own = RouteTable(authenticator: routes.authenticator, errors: routes.errors, idempotency: routes.idempotency)
        add(to: own, OpenAPIDocument(entries: []))
        add(to: routes, OpenAPIDocument(entries: routes.entries + own.entries))
    }

    private static func add(to routes: RouteTable, _ document: OpenAPIDocument) {
        let (json, page) = (document.json, document.page)
        let group = routes.open("Documentation")
        group.get("/openapi.json", RouteDescription("This document", response: .media("application/json"))) { _, _ in
            .json(json)
        }
        group.get("/docs", RouteDescription("This document as a page", response: .media("text/html", .text))) { _, _ in
            var response = Response(bytes: page, type: "text/html; charset=utf-8")
            // Forbids scripts and all external resources.
            response.headers[.contentSecurityPolicy] = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
            return response
        }
    }
}
