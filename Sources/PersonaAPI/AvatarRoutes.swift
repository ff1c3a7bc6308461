import CoachCore
import GatewayAPI
import HTTPEdge
import HTTPTypes
import Hummingbird
import JSON
import NIOPosix

/// `/api/v1/personas/{id}/avatar` and `/p/{token}/avatar`: pictures of personas, stored and served without metadata but the orientation.
public struct AvatarRoutes: Feature {
    private let avatars: PersonaAvatars

    public init(avatars: PersonaAvatars) { self.avatars = avatars }

    public func register(on routes: RouteTable) {
        let users = routes.authenticated("Personas")
        let creators = users.require(.creator)
        let path = "/api/v1/personas/{id}/avatar"
        let picture = RouteResponse.media("image/*", .binary)
        users.get(path, .init("Get the avatar of a persona", response: picture)) { _, context in
            Self.respond(try await avatars.get(context.caller, try context.personaID))
        }
        creators.put(
            path,
            .init(
                "Set the avatar; the body is a PNG, JPEG or WebP file of at most 512 KiB",
                // Also without a type, as generated clients send it: what it is, its bytes say.
                uploads: AvatarImage.Format.allCases.map(\.rawValue) + ["application/octet-stream"], response: .data(.any))
        ) { request, context in
            let id = try context.personaID
            let bytes = try await request.collectBytes(upTo: AvatarImage.maximumBytes)
            let image = try await NIOThreadPool.singleton.readPicture(field: "avatar") { try AvatarImage(bytes) }
            try await avatars.put(context.caller, id, image)
            return .envelope(context)
        }
        creators.delete(path, .init("Remove the avatar", response: .data(.any))) { _, context in
            try await avatars.delete(context.caller, try context.personaID)
            return .envelope(context)
        }
        routes.open("Personas").get(
            "/p/{token}/avatar",
            .init("Get the avatar of a shared persona", parameters: [.init("token", in: .path, .text)], response: picture)
        ) { _, context in
            guard let token = context.parameters.get("token"), ShareLink.isToken(token), let image = try await avatars.shared(token) else {
                throw PublicPersonaRoutes.notFound
            }
            return Self.respond(image).ofSharedPersona()
        }
    }

    /// The type is that of the content, and browsers must not guess another.
    private static func respond(_ image: AvatarImage) -> Response {
        var response = Response(bytes: image.bytes, type: image.format.rawValue)
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.contentSecurityPolicy] = "default-src 'none'; sandbox"
        return response
    }
}
