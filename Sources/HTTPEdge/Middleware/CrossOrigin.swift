import HTTPTypes
import Hummingbird

/// CORS for browser clients of the configured origins; others get no header and so no access (CONTRACT §2).
struct CrossOrigin: Sendable {
    /// The headers that supabase-js and supabase-swift send (supabase-js `x-region`, of the function's region, which means nothing here), those for
    /// resuming streams and changing resources, those of request ids and W3C traces, and those that openai-node sends.
    static let allowedHeaders =
        "authorization, x-client-info, apikey, content-type, last-event-id, idempotency-key, if-match, if-none-match, "
        + "x-region, x-request-id, x-correlation-id, traceparent, tracestate, baggage, "
        + "openai-beta, openai-organization, openai-project, user-agent, x-stainless-arch, x-stainless-custom-poll-interval, "
        + "x-stainless-helper-method, x-stainless-lang, x-stainless-os, x-stainless-package-version, x-stainless-poll-helper, "
        + "x-stainless-retry-count, x-stainless-runtime, x-stainless-runtime-version, x-stainless-timeout"
    /// What a browser lets a page read: of lists in CSV and JSON Lines, only these headers have the next page and the time of figures.
    private static let exposedHeaders =
        "x-request-id, x-api-version, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, ratelimit, "
        + "ratelimit-policy, retry-after, etag, x-should-retry, link, x-figures-as-of, x-figures-trace"

    /// For servers that no browser's page calls.
    static let none = CrossOrigin(origins: [])

    let origins: Set<String>

    /// The answer to a CORS preflight request; nil for every other request.
    func preflight(_ request: Request) -> Response? {
        guard request.method == .options else { return nil }
        var response = Response(status: .noContent)
        if let origin = request.headers[.origin], origins.contains(origin) {
            response.headers[.accessControlAllowHeaders] = Self.allowedHeaders
            response.headers[.accessControlAllowMethods] = "GET, POST, PUT, PATCH, DELETE, OPTIONS"
            response.headers[.accessControlMaxAge] = "600"
        }
        return response
    }

    /// Writes the CORS headers. Call for every response, errors included: without them a browser hides it from the page.
    /// - Parameter origin: `Origin` of the request; nil without one, also where its head could not be read.
    func write(to fields: inout HTTPFields, origin: String?) {
        fields[.vary] = [fields[.vary], "Origin"].compactMap(\.self).joined(separator: ", ")
        guard let origin, origins.contains(origin) else { return }
        fields[.accessControlAllowOrigin] = origin
        fields[.accessControlExposeHeaders] = Self.exposedHeaders
    }
}
