import HTTPTypes
import Hummingbird

/// CORS for browser clients of the configured origins; others get no header and so no access (CONTRACT §2).
struct CrossOriginMiddleware: RouterMiddleware {
    /// What supabase-js and supabase-swift send, and what resuming needs.
    static let allowedHeaders = "authorization, x-client-info, apikey, content-type, last-event-id, idempotency-key"
    private static let exposedHeaders =
        "x-request-id, x-api-version, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, retry-after, etag"

    let origins: Set<String>

    func handle(_ request: Request, context: GatewayContext, next: @concurrent (Request, GatewayContext) async throws -> Response)
        async throws
        -> Response
    {
        var response = request.method == .options ? preflight() : try await next(request, context)
        response.headers[.vary] = "Origin"
        if let origin = request.headers[.origin], origins.contains(origin) {
            response.headers[.accessControlAllowOrigin] = origin
            response.headers[.accessControlExposeHeaders] = Self.exposedHeaders
            if request.method == .options {
                response.headers[.accessControlAllowHeaders] = Self.allowedHeaders
                response.headers[.accessControlAllowMethods] = "GET, POST, PUT, PATCH, DELETE, OPTIONS"
                response.headers[.accessControlMaxAge] = "600"
            }
        }
        return response
    }

    private func preflight() -> Response { Response(status: .noContent) }
}
