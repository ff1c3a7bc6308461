import GatewayAPI
import HTTPTypes
import JSON

/// One operation object of the OpenAPI document.
struct OpenAPIOperation {
    private let entry: RouteTable.Entry
    private let links: [OpenAPILink]

    init(_ entry: RouteTable.Entry, links: [OpenAPILink]) {
        self.entry = entry
        self.links = links
    }

    private var route: RouteDescription { entry.description }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("operationId", entry.operationID)
            writer.member("summary", route.summary)
            writer.key(literal: "tags")
            writer.array { $0.string(route.tag) }
            if let role = route.security.role {
                writer.member("description", "Requires the role `\(role.rawValue)`.")
                writer.member("x-role", role.rawValue)
            }
            if !route.security.isOpen {
                writer.key(literal: "security")
                writer.array { writer in
                    for scheme in route.security.schemes {
                        writer.object { writer in
                            writer.key(scheme)
                            writer.array { _ in }
                        }
                    }
                }
            }
            if !parameters.isEmpty {
                writer.key(literal: "parameters")
                writer.array { writer in for parameter in parameters { parameter.write(to: &writer) } }
            }
            writeBody(to: &writer)
            writer.key(literal: "responses")
            writer.object { writeResponses(to: &$0) }
        }
    }

    /// The declared parameters, an id for each other parameter of the path, and the header of a request for what may be unchanged.
    private var parameters: [RouteParameter] {
        let ids = entry.pathParameters.filter { name in !route.parameters.contains { $0.location == .path && $0.name == name } }
        return ids.map { RouteParameter($0, in: .path, .id) } + route.parameters + (mayBeUnchanged ? [.ifNoneMatch] : [])
    }

    /// Whether the response may be 304.
    private var mayBeUnchanged: Bool { route.response.isVersioned && entry.method == .get }

    private func writeBody(to writer: inout JSONWriter) {
        var media: [(type: String, schema: Schema)] = []
        if let body = route.body { media.append(("application/json", body.schema)) }
        for type in route.uploads { media.append((type, .binary)) }
        if let form = route.form { media.append(("application/x-www-form-urlencoded", form)) }
        guard !media.isEmpty else { return }
        writer.key(literal: "requestBody")
        writer.object { writer in
            writer.member("required", route.body.map { !$0.mayBeEmpty } ?? !route.uploads.isEmpty)
            Self.writeContent(media, to: &writer)
        }
    }

    private func writeResponses(to writer: inout JSONWriter) {
        writer.key(String(route.response.status))
        writer.object { writer in
            writer.member("description", "Success")
            let headers = route.response.headers
            if !headers.isEmpty {
                writer.key(literal: "headers")
                writer.object { writer in
                    for (name, schema) in headers {
                        writer.key(name)
                        writer.object { writer in
                            writer.key(literal: "schema")
                            schema.write(to: &writer)
                        }
                    }
                }
            }
            Self.writeContent(route.response.media, to: &writer)
            writeLinks(to: &writer)
        }
        if route.form != nil {
            writer.key(literal: "303")
            writer.object { $0.member("description", "Success of a form: to a page") }
        }
        if mayBeUnchanged {
            writer.key(literal: "304")
            writer.object { $0.member("description", "`If-None-Match` has the current `ETag`") }
        }
        for status in route.failureStatuses where status != route.response.status {
            writer.key(String(status))
            writer.object { writeFailure(status, to: &$0) }
        }
    }

    private func writeFailure(_ status: Int, to writer: inout JSONWriter) {
        if let schema = route.ownFailures[status] {
            writer.member("description", "Failure")
            Self.writeContent([("application/json", schema)], to: &writer)
        } else if ErrorFormat(accept: nil, path: entry.path) == .openAI {
            writer.member("description", FailureResponse.description(status))
            Self.writeContent([("application/json", FailureResponse.openAISchema)], to: &writer)
        } else if route.mayBePage(status) {
            writer.member("description", FailureResponse.description(status))
            Self.writeContent(FailureResponse.media + [(type: "text/html", schema: .text)], to: &writer)
        } else {
            writer.member("$ref", "#/components/responses/\(FailureResponse.name(status))")
        }
    }

    private func writeLinks(to writer: inout JSONWriter) {
        guard !links.isEmpty else { return }
        writer.key(literal: "links")
        writer.object { writer in
            for link in links {
                writer.key(link.operationID)
                writer.object { writer in
                    writer.member("operationId", link.operationID)
                    writer.key(literal: "parameters")
                    writer.object { writer in
                        for parameter in link.parameters {
                            writer.key("path.\(parameter.name)")
                            writer.string(parameter.value)
                        }
                    }
                }
            }
        }
    }

    static func writeContent(_ media: [(type: String, schema: Schema)], to writer: inout JSONWriter) {
        guard !media.isEmpty else { return }
        writer.key(literal: "content")
        writer.object { writer in
            for (type, schema) in media {
                writer.key(type)
                writer.object { writer in
                    writer.key(literal: "schema")
                    schema.write(to: &writer)
                    guard type == "application/json", let sample = schema.sample else { return }
                    writer.key(literal: "example")
                    sample.write(to: &writer)
                }
            }
        }
    }
}

extension RouteResponse {
    fileprivate var headers: [(name: String, schema: Schema)] {
        let figures: [(String, Schema)] = [
            ("X-Figures-As-Of", Schema.time.described("everything that was booked before is included; absent: not known yet")),
            ("X-Figures-Trace", Schema.text.described("path and query of the calls or users behind the figures; absent: there is none")),
        ]
        var headers: [(String, Schema)] = isVersioned ? [("ETag", .text)] : []
        if case .list = content {
            headers.append(("Link", .text.described("of CSV and JSON Lines: the next page, `rel=\"next\"` (RFC 8288)")))
        }
        return headers + (hasFigures ? figures : [])
    }

    /// Media types of the response with their schemas.
    var media: [(type: String, schema: Schema)] {
        switch content {
        case .data(let schema): [("application/json", Envelope.schema(data: schema))]
        case .list(let element):
            [
                ("application/json", Envelope.schema(data: .array(of: element), isList: true)), (ListFormat.csv.mediaType, .text),
                (ListFormat.jsonLines.mediaType, element),
            ]
        case .events(let schema): [("text/event-stream", .serverSentEvent(of: schema))]
        case .media(let types): types
        }
    }
}

extension RouteParameter {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", name)
            writer.member("in", location.rawValue)
            writer.member("required", isRequired)
            writer.key(literal: "schema")
            schema.write(to: &writer)
        }
    }
}
