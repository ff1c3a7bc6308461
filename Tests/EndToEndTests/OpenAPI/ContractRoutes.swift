/// Which callers the contract permits on each route (§5 to §7), copied from it by hand. The server and its OpenAPI document are tested against this
/// list. Routes below `/api/v1/operator/` are for operators alone.
enum ContractRoutes {
    /// Without a token.
    static let open: Set<String> = [
        "GET /openapi.json", "GET /docs", "GET /healthz", "GET /readyz", "GET /try", "POST /try/token",
        "GET /operator", "GET /operator/{view}", "GET /operator/assets/{version}/{file}", "GET /try/assets/{version}/{file}",
        "GET /operator/session", "POST /operator/session", "DELETE /operator/session",
        "POST /functions/v1/webhook-revenuecat", "POST /functions/v1/webhook-stripe", "POST /functions/v1/webhook-appstore",
        "POST /functions/v1/webhook-play", "GET /api/v1/resources", "GET /.well-known/safety-protocol", "GET /p/{token}",
        "GET /p/{token}/avatar",
    ]
    /// The same; there are none without apps in the configuration.
    static let ofApps: Set<String> = ["GET /.well-known/apple-app-site-association", "GET /.well-known/assetlinks.json"]

    /// With a token of any role.
    static let user: Set<String> = [
        "POST /functions/v1/chat-stream", "GET /functions/v1/chat-stream/{turn_id}", "POST /functions/v1/chat-stream/{turn_id}/stop",
        "POST /functions/v1/chat-stream/{turn_id}/retry",
        "GET /api/v1/conversations", "POST /api/v1/conversations", "GET /api/v1/conversations/{id}", "PATCH /api/v1/conversations/{id}",
        "DELETE /api/v1/conversations/{id}", "GET /api/v1/conversations/{id}/messages", "GET /api/v1/conversations/{id}/persona-version",
        "POST /api/v1/conversations/{id}/persona-version", "GET /api/v1/messages/search",
        "GET /api/v1/context-profile", "PUT /api/v1/context-profile", "PATCH /api/v1/context-profile", "POST /api/v1/context-profile/undo",
        "GET /api/v1/context-profile/history",
        "GET /api/v1/me", "PATCH /api/v1/me", "DELETE /api/v1/me", "GET /api/v1/me/usage", "GET /api/v1/me/subscription",
        "GET /api/v1/me/export", "GET /api/v1/me/consents", "PUT /api/v1/me/consents/{kind}",
        "GET /api/v1/domains", "GET /api/v1/sync", "POST /api/v1/reports",
        "GET /api/v1/personas", "POST /api/v1/personas/redeem", "GET /api/v1/personas/{id}/avatar",
        "POST /v1/chat/completions", "GET /v1/models", "GET /v1/models/{id}", "POST /v1/responses", "GET /v1/responses/{id}",
        "GET /v1/responses/{id}/input_items", "POST /v1/responses/{id}/cancel", "DELETE /v1/responses/{id}",
    ]

    /// With a token of the role creator.
    static let creator: Set<String> = [
        "GET /api/v1/me/personas", "POST /api/v1/personas", "GET /api/v1/personas/{id}", "PUT /api/v1/personas/{id}",
        "DELETE /api/v1/personas/{id}", "POST /api/v1/personas/{id}/publish", "POST /api/v1/personas/{id}/unpublish",
        "GET /api/v1/personas/{id}/versions", "GET /api/v1/personas/{id}/versions/{version}", "GET /api/v1/personas/{id}/diff",
        "POST /api/v1/personas/{id}/rollback", "POST /api/v1/personas/{id}/preview", "PUT /api/v1/personas/{id}/avatar",
        "DELETE /api/v1/personas/{id}/avatar", "GET /api/v1/personas/{id}/card", "PUT /api/v1/personas/{id}/card",
        "GET /api/v1/personas/{id}/share-links", "POST /api/v1/personas/{id}/share-links",
        "DELETE /api/v1/personas/{id}/share-links/{link_id}", "GET /api/v1/personas/{id}/stats",
    ]

    /// Routes that compare `If-Match`; true: they require it.
    static let versioned: [String: Bool] = [
        "PATCH /api/v1/conversations/{id}": false, "DELETE /api/v1/conversations/{id}": false,
        "PUT /api/v1/context-profile": true, "PATCH /api/v1/context-profile": true, "POST /api/v1/context-profile/undo": true,
        "PUT /api/v1/personas/{id}": true, "DELETE /api/v1/personas/{id}": false, "POST /api/v1/personas/{id}/publish": false,
        "POST /api/v1/personas/{id}/unpublish": false, "POST /api/v1/personas/{id}/rollback": true, "PUT /api/v1/personas/{id}/card": true,
        "PUT /api/v1/operator/domain-configs/{id}": true, "POST /api/v1/operator/domain-configs/{id}/rollback": true,
        "PUT /api/v1/operator/limits": true, "POST /api/v1/operator/limits/rollback": true,
        "PUT /api/v1/operator/prices": true, "POST /api/v1/operator/prices/rollback": true,
        "PUT /api/v1/operator/alert-rules": true, "POST /api/v1/operator/alert-rules/rollback": true,
    ]

    /// The role that the contract requires: nil for a route that is open or for any user.
    static func role(_ route: String) -> String? {
        creator.contains(route) ? "creator" : route.contains(" /api/v1/operator/") ? "operator" : nil
    }
}
