import CoachCore
import GatewayAPI
import Hummingbird
import JSON

/// Reads and declares the query parameters of a list with keyset paging: `limit`, `cursor` and `updated_since`.
public enum PageQuery {
    private static let limits = 1...100
    private static let defaultLimit = 20

    /// The declaration for the route's `RouteDescription`.
    public static let parameters = cursorParameters + [updatedSince]

    private static let updatedSince = RouteParameter(
        "updated_since", in: .query,
        .text.described(
            "next_updated_since of an earlier answer, which misses nothing; or a time (RFC 3339), for what was updated from then on"))

    /// The declaration for lists without `updated_since`.
    public static let cursorParameters = [limitParameter, RouteParameter("cursor", in: .query, .text)]

    public static let limitParameter = RouteParameter("limit", in: .query, .integer(limits).described("\(defaultLimit) unless given"))

    /// Reads `?limit=` (1–100, default 20), `?cursor=` and `?updated_since=`, a position or a time.
    public static func read(_ request: Request) throws -> PageRequest {
        let query = request.uri.queryParameters
        if query["cursor"] != nil, query["updated_since"] != nil {
            throw GatewayError(.invalidInput, "cursor and updated_since exclude each other").naming(field: "cursor")
        }
        let time = query["updated_since"].flatMap { Timestamp(rfc3339: String($0)) }
        return PageRequest(
            limit: try limit(request), cursor: try request.cursor,
            updatedSince: time == nil ? try request.changeToken(.updatedSince) : nil, updatedFrom: time?.date)
    }

    /// Reads `?limit=` alone.
    public static func limit(_ request: Request) throws(GatewayError) -> Int {
        try request.integer("limit", in: limits) ?? defaultLimit
    }
}

extension Pagination {
    init<Element>(_ page: Page<Element>, of request: Request) {
        self.init(
            nextCursor: page.nextCursor.map(request.seal(cursor:)), nextUpdatedSince: page.position?.sealedNext,
            hasMore: page.position?.hasMore == true, reset: page.position?.isReset == true)
    }
}
