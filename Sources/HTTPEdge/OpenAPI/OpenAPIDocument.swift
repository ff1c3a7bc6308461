import GatewayAPI
import JSON

/// The OpenAPI 3.1 document of all routes.
struct OpenAPIDocument {
    let entries: [RouteTable.Entry]

    var json: [UInt8] {
        let targets = entries.compactMap(OpenAPILink.Target.init)
        return JSONWriter.encode { writer in
            writer.object { writer in
                writer.member("openapi", "3.1.0")
                writer.key(literal: "info")
                writer.object { writer in
                    writer.member("title", "Coach Gateway")
                    writer.member("description", Self.description)
                    writer.member("version", ResponseMeta.version)
                }
                writer.key(literal: "paths")
                writer.object { writer in
                    for (path, entries) in paths {
                        writer.key(path)
                        writer.object { writer in
                            for entry in entries {
                                writer.key(entry.method.rawValue.lowercased())
                                OpenAPIOperation(entry, links: OpenAPILink.links(of: entry, to: targets)).write(to: &writer)
                            }
                        }
                    }
                }
                writer.key(literal: "components")
                writer.object { writeComponents(to: &$0) }
            }
        }
    }

    private static let description = """
        Answers are envelopes: `success`, `data`, `error` and `meta`. Errors have a stable `code`, a `user_message` to show and an `action`; \
        `Accept: application/problem+json` gets them as RFC 9457, `text/event-stream` as one event, on routes that \
        never stream only without JSON beside it.

        A turn streams server-sent events without names, one JSON object in each `data:` line: `start` first, `safety` before any text when a \
        message shows danger, `token` with each piece of text, `usage`, and last `done` or `error`, which alone have `done: true`. `id:` is the \
        number of UTF-8 bytes of text so far: `GET /functions/v1/chat-stream/{turn_id}` with `Last-Event-ID` goes on after it.

        A route with a role needs it in `app_metadata.role` of the token.

        Every answer has `X-Request-ID` and `X-API-Version`; one to a valid token `X-RateLimit-Limit`, `X-RateLimit-Remaining`, \
        `X-RateLimit-Reset` (Unix seconds), `RateLimit` and `RateLimit-Policy`; one of 429 or 503 `Retry-After` (seconds).

        | code | status | action | text |
        |---|---|---|---|
        \(ErrorCode.allCases.map(row).joined(separator: "\n"))
        """

    private static func row(_ code: ErrorCode) -> String {
        let row = ErrorMapping.row(code)
        return "| \(code.rawValue) | \(row.status) | \(row.action.rawValue) | \(row.userMessage) |"
    }

    /// Paths in alphabetical order, each with its operations in the order of declaration.
    private var paths: [(key: String, value: [RouteTable.Entry])] {
        Dictionary(grouping: entries, by: \.path).sorted { $0.key < $1.key }
    }

    private func writeComponents(to writer: inout JSONWriter) {
        writer.key(literal: "securitySchemes")
        writer.object { writer in
            writer.key(literal: "bearer")
            writer.object { writer in
                writer.member("type", "http")
                writer.member("scheme", "bearer")
                writer.member("bearerFormat", "JWT")
            }
            writer.key(literal: "session")
            writer.object { writer in
                writer.member("type", "apiKey")
                writer.member("in", "cookie")
                writer.member("name", SessionCookie.name)
            }
        }
        writer.key(literal: "responses")
        writer.object { writer in
            for status in FailureResponse.statuses {
                writer.key(FailureResponse.name(status))
                writer.object { writer in
                    writer.member("description", FailureResponse.description(status))
                    OpenAPIOperation.writeContent(FailureResponse.media, to: &writer)
                }
            }
        }
        writer.key(literal: "schemas")
        writer.object { writer in
            for (name, schema) in schemas.sorted(by: { $0.key < $1.key }) {
                writer.key(name)
                schema.write(to: &writer)
            }
        }
    }

    private var schemas: [String: Schema] {
        let used = entries.map(\.description).flatMap { route -> [Schema] in
            let bodies = [route.body?.schema, route.form].compactMap { $0 }
            return bodies + route.parameters.map(\.schema) + route.response.media.map(\.schema) + Array(route.ownFailures.values)
        }
        let common = [Envelope.failureSchema, Envelope.problemSchema, StreamEvent.schema, StreamSafety.schema]
        return (used + common).reduce(into: [:]) { $0.merge($1.references) { first, _ in first } }
    }
}
