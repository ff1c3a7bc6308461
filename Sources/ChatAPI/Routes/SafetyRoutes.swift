import CoachCore
import GatewayAPI
import HTTPEdge
import HTTPTypes
import Hummingbird

/// `GET /api/v1/resources` and `GET /.well-known/safety-protocol`: without authentication, and available without the database.
public struct SafetyRoutes: Feature {
    private let coaching: LiveValue<CoachingConfiguration>
    private let safetyProtocol: [UInt8]

    /// `safetyProtocol`: the published protocol (`domains/safety/protocol.md`), UTF-8.
    public init(coaching: LiveValue<CoachingConfiguration>, safetyProtocol: [UInt8]) {
        self.coaching = coaching
        self.safetyProtocol = safetyProtocol
    }

    public func register(on routes: RouteTable) {
        // Many users share an address, and nobody in danger is turned away. The answers come from memory.
        let group = routes.open("Safety", addressLimit: .none)
        group.get(
            "/api/v1/resources",
            .init(
                "List crisis resources of a country and the international ones",
                parameters: [.init("country", in: .query, .text), .init("locale", in: .query, .text)] + PageQuery.cursorParameters,
                response: .list(SafetyResource.schema))
        ) { request, context in
            let query = request.uri.queryParameters
            let asked = Region(country: query["country"].map(String.init), locale: query["locale"].map(String.init))
            let region = Region(firstOf: [asked, AcceptLanguage.region(request.headers[.acceptLanguage])])
            let card = StreamSafety(coaching.current.resources.all(in: region))
            let page = try Page(of: card.resources, try PageQuery.read(request))
            return .list(request, context, page) { $0 }.kept(by: "Accept-Language, Accept")
        }
        group.get(
            "/.well-known/safety-protocol", .init("Get the published safety protocol", response: .media("text/markdown", .text))
        ) { _, _ in
            Response(bytes: safetyProtocol, type: "text/markdown; charset=utf-8").kept()
        }
    }
}

extension Response {
    /// The response with leave for caches to keep it for an hour: a phone can show it without a connection, too.
    /// - Parameter fields: headers of the request by which the response differs.
    fileprivate func kept(by fields: String? = nil) -> Response {
        var response = self
        response.headers[.cacheControl] = "max-age=3600"
        response.headers[.vary] = fields
        return response
    }
}
