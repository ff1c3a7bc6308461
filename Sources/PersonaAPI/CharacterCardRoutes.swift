import CoachCore
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON
import NIOPosix

/// `/api/v1/personas/{id}/card`: import and export of character cards (V2 and V3; V1 is imported, too), as JSON and inside PNG pictures.
public struct CharacterCardRoutes: Feature {
    private let personas: PersonaRepository
    private let avatars: PersonaAvatars

    public init(personas: PersonaRepository, avatars: PersonaAvatars) {
        self.personas = personas
        self.avatars = avatars
    }

    public func register(on routes: RouteTable) {
        let creators = routes.authenticated("Personas").require(.creator)
        let path = "/api/v1/personas/{id}/card"
        creators.get(
            path,
            .init(
                """
                Export the draft as a character card, with all that was imported. For `Accept: image/png` inside the avatar, or inside a blank \
                picture or as JSON where it would be too large to be imported again
                """,
                response: .media(["application/json": .any, "image/png": .binary]))
        ) { try await export($0, $1) }
        creators.put(
            path,
            .init(
                """
                Replace the draft by a character card, also one of V1; its system prompt is kept and never used. The body may be a PNG picture with \
                a card in it, which becomes the avatar unless the persona is published: an avatar has no draft
                """, parameters: [.ifMatch],
                body: Self.card, uploads: [AvatarImage.Format.png.rawValue], response: PersonaRoutes.versioned)
        ) { request, context in
            let id = try context.personaID
            return try await PersonaRecord.versioned.edit(
                request, context, current: { try await personas.get(context.caller, id) }
            ) { expectedVersions in
                let body = try await request.collectBytes(upTo: CharacterCard.maximumBytes)
                let picture = try await Self.picture(body)
                let card = try Self.card.value(of: picture?.card ?? body)
                let record = try await personas.importCard(context.caller, id, card, expectedVersions)
                // Users would see it at once.
                if let picture, record.status != .published { try await avatars.put(context.caller, id, picture.image) }
                return record
            }
        }
    }

    private static let card = JSONBody("CharacterCard", CharacterCard.init)

    private func export(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let id = try context.personaID
        let (record, imported) = (try await personas.get(context.caller, id), try await personas.card(context.caller, id))
        let card = CharacterCard.exported(record.content, imported: imported)
        guard request.preferredType(of: ["application/json", AvatarImage.Format.png.rawValue]) == AvatarImage.Format.png.rawValue else {
            return .json(card.bytes)
        }
        var avatar: AvatarImage?
        do {
            avatar = try await avatars.get(context.caller, id)
        } catch let rejection as Rejection where rejection.reason == .notFound {}
        for pixels in [avatar, nil] {
            let picture = CardPicture.picture(of: card, in: pixels)
            if picture.count <= CharacterCard.maximumBytes { return Response(bytes: picture, type: AvatarImage.Format.png.rawValue) }
        }
        return .json(card.bytes)
    }

    /// The card in a picture, and its pixels; nil for a body that is no picture.
    private static func picture(_ body: [UInt8]) async throws -> (card: [UInt8], image: AvatarImage)? {
        guard CardPicture.isPicture(body) else { return nil }
        let (image, card) = try await NIOThreadPool.singleton.readPicture(field: "data") {
            (try AvatarImage(body), try CardPicture.card(in: body))
        }
        guard let card else { throw GatewayError(.invalidInput, "the picture has no character card").naming(field: "data") }
        return (card, image)
    }
}
