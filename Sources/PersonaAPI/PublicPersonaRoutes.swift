import CoachCore
import GatewayAPI
import HTTPEdge
import HTTPTypes
import Hummingbird
import JSON

/// `GET /p/{token}`: the public page of a shared persona, and the files by which apps open such links.
public struct PublicPersonaRoutes: Feature {
    private let sharing: PersonaSharing
    private let avatars: PersonaAvatars
    private let links: AppLinks

    public init(sharing: PersonaSharing, avatars: PersonaAvatars, links: AppLinks) {
        self.sharing = sharing
        self.avatars = avatars
        self.links = links
    }

    public func register(on routes: RouteTable) {
        let group = routes.open("Personas")
        group.get(
            "/p/{token}",
            .init(
                "Get the public card of a shared persona: HTML, or the envelope for `Accept: application/json`",
                parameters: [.init("token", in: .path, .text)],
                response: .media(["text/html": .text, "application/json": Envelope.schema(data: PublishedPersonaResource.schema)]),
                hasNotFoundPage: true)
        ) { try await page($0, $1) }
        if !links.appleAppIDs.isEmpty { file(group, ".well-known/apple-app-site-association", links.appleAppSiteAssociation) }
        if !links.androidApps.isEmpty { file(group, ".well-known/assetlinks.json", links.assetLinks) }
    }

    private func file(_ group: RouteGroup<GatewayContext>, _ path: String, _ json: [UInt8]) {
        group.get("/\(path)", .init("Get the apps that open share links", response: .media("application/json"))) { _, _ in
            Response(bytes: json, type: "application/json")
        }
    }

    private func page(_ request: Request, _ context: GatewayContext) async throws -> Response {
        let preferred = request.preferredType(of: ["application/json", "text/html"])
        guard let token = context.parameters.get("token"), ShareLink.isToken(token), let persona = try await sharing.shared(token) else {
            // Browsers ask for HTML by name.
            guard preferred == "text/html" else { throw Self.notFound }
            return Self.respond(PersonaPage.notFound, status: .notFound)
        }
        // A request that names neither type gets the page: programs that show a preview of a link accept anything.
        if preferred == "application/json" {
            return .envelope(context, PublishedPersonaResource(persona)).ofSharedPersona()
        }
        let path = "/p/\(token)"
        let picture: String? = try await avatars.hasShared(token) ? "\(path)/avatar" : nil
        return Self.respond(PersonaPage(persona, address: links.origin.map { $0 + path }, picture: picture).html)
    }

    private static func respond(_ html: String, status: HTTPResponse.Status = .ok) -> Response {
        var response = Response(bytes: Array(html.utf8), type: "text/html; charset=utf-8", status: status)
        // No scripts, no foreign resources.
        response.headers[.contentSecurityPolicy] = "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'"
        return response.ofSharedPersona()
    }

    /// Besides those of `ShareLinkHeaders`.
    static let headers: [(name: String, value: String)] = [("X-Content-Type-Options", "nosniff"), ("Vary", "Accept")]

    static var notFound: GatewayError {
        var error = GatewayError.notFound
        error.headers = headers
        return error
    }
}

extension Response {
    /// With the headers of cards and pictures under `/p/`.
    func ofSharedPersona() -> Response {
        var response = self
        for (name, value) in PublicPersonaRoutes.headers { if let name = HTTPField.Name(name) { response.headers[name] = value } }
        return response
    }
}
