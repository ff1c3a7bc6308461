import GatewayAPI
import JSON

/// The OpenAPI 3.1 document of all routes.
struct OpenAPIDocument {
    let entries: [RouteTable.Entry]

    var json: [UInt8] {
        JSONWriter.encode { writer in
            writer.object { writer in
                writer.member("openapi", "3.1.0")
                writer.key(literal: "info")
                writer.object { writer in
                    writer.member("title", "Coach Gateway")
                    writer.member("version", ResponseMeta.version)
                }
                writer.key(literal: "paths")
                writer.object { writer in
                    for (path, entries) in paths {
                        writer.key(path)
                        writer.object { writer in
                            for entry in entries {
                                writer.key(entry.method.rawValue.lowercased())
                                OpenAPIOperation(entry).write(to: &writer)
                            }
                        }
                    }
                }
                writer.key(literal: "components")
                writer.object { writeComponents(to: &$0) }
            }
        }
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
            writer.key(literal: "Error")
            writer.object { writer in
                writer.member("description", "An error: the envelope, or the form that `Accept` prefers")
                OpenAPIOperation.writeContent(
                    [
                        ("application/json", Envelope.failureSchema), ("application/problem+json", Envelope.problemSchema),
                        ("text/event-stream", StreamEvent.schema),
                    ], to: &writer)
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
        let used = entries.map(\.description).flatMap { route in
            [route.body].compactMap { $0 } + route.parameters.map(\.schema) + route.response.media.map(\.schema)
        }
        let common = [Envelope.failureSchema, Envelope.problemSchema, StreamEvent.schema, StreamSafety.schema]
        return (used + common).reduce(into: [:]) { $0.merge($1.references) { first, _ in first } }
    }
}
