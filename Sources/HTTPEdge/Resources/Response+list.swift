import CoachCore
import Foundation
import GatewayAPI
import HTTPTypes
import Hummingbird
import JSON

extension Response {
    /// A page of a list in the format that `Accept` prefers: the envelope with `pagination`, CSV or JSON Lines. For the latter two a `Link`
    /// header (RFC 8288) has the next page. What `meta` has of figures is in headers, too.
    public static func list<Record: Sendable, Element: WireResource>(
        _ request: Request, _ context: some EdgeContext, _ page: Page<Record>, figures: FigureMeta? = nil, _ element: (Record) -> Element
    ) -> Response {
        list(request, context, page, fields: Element.fields, figures: figures) { record, writer in element(record).write(to: &writer) }
    }

    /// The same for elements whose fields are known when the route is declared. `write` writes one JSON object.
    public static func list<Record: Sendable>(
        _ request: Request, _ context: some EdgeContext, _ page: Page<Record>, fields: [Schema.Field], figures: FigureMeta? = nil,
        write: (Record, inout JSONWriter) -> Void
    ) -> Response {
        var response = rendered(request, context, page, fields: fields, figures: figures, write: write)
        response.headers[.figuresAsOf] = figures?.asOf?.rfc3339
        response.headers[.figuresTrace] = figures?.trace
        return response
    }

    private static func rendered<Record: Sendable>(
        _ request: Request, _ context: some EdgeContext, _ page: Page<Record>, fields: [Schema.Field], figures: FigureMeta?,
        write: (Record, inout JSONWriter) -> Void
    ) -> Response {
        let format = ListFormat(accept: request.headers[.accept])
        let pagination = Pagination(page, of: request)
        switch format {
        case .envelope:
            return .envelope(context, pagination: pagination, figures: figures) { writer in
                writer.array { writer in for record in page.items { write(record, &writer) } }
            }
        case .csv:
            let names = fields.map(\.name)
            var bytes = CSVWriter.row(names)
            for record in page.items { bytes += CSVWriter.row(names) { write(record, &$0) } }
            return Response(bytes: bytes, type: "text/csv; charset=utf-8; header=present").linking(request, pagination)
        case .jsonLines:
            var bytes: [UInt8] = []
            for record in page.items {
                JSONWriter.append(to: &bytes) { write(record, &$0) }
                bytes.append(UInt8(ascii: "\n"))
            }
            return Response(bytes: bytes, type: format.mediaType).linking(request, pagination)
        }
    }

    private func linking(_ request: Request, _ pagination: Pagination) -> Response {
        guard let (name, value) = pagination.next else { return self }
        var parameters = request.uri.queryParameters.filter { $0.key != "cursor" && $0.key != "updated_since" }
            .map { (String($0.key), String($0.value)) }
        parameters.append((name, value))
        var components = URLComponents()
        components.path = request.routedPath
        components.queryItems = parameters.map { URLQueryItem(name: $0.0, value: $0.1) }
        var response = self
        response.headers[.link] = components.string.map { "<\($0)>; rel=\"next\"" }
        return response
    }
}

extension Pagination {
    /// The query parameter of the next page.
    fileprivate var next: (name: String, value: String)? {
        nextCursor.map { ("cursor", $0) } ?? (hasMore ? nextUpdatedSince.map { ("updated_since", $0) } : nil)
    }
}
