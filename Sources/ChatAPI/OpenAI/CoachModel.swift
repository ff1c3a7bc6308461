import CoachCore
import GatewayAPI
import HTTPEdge
import JSON

/// A model of the OpenAI-compatible routes: `coach`, or `coach:` with a persona's slug or id.
struct CoachModel: Sendable, Equatable {
    static let plain = CoachModel(personaID: nil, slug: nil)
    /// Of the member `model` of a request.
    static let schema = Schema.text.described("coach, or coach: with a persona's slug or id").exemplified(.string(plainName))

    /// nil for the plain coach, and when there is a slug.
    var personaID: PersonaID?
    var slug: String?

    private init(personaID: PersonaID?, slug: String?) {
        self.personaID = personaID
        self.slug = slug
    }

    /// nil for any other name.
    init?(_ name: String) {
        if name == Self.plainName {
            self = .plain
            return
        }
        guard name.hasPrefix(Self.prefix), name.utf8.count > Self.prefix.utf8.count else { return nil }
        let persona = String(name.dropFirst(Self.prefix.count))
        let id = PersonaID(validating: persona)
        self.init(personaID: id, slug: id == nil ? persona : nil)
    }

    /// The name of a persona's model; by its id when it has no slug.
    static func name(_ id: PersonaID?, slug: String? = nil) -> String { id.map { prefix + (slug ?? $0.description) } ?? plainName }

    private static let plainName = "coach"
    private static let prefix = "coach:"
}

extension GatewayError {
    /// A model that does not exist.
    static let unknownModel = GatewayError(.personaOrDomainUnavailable, "the model does not exist: coach does").naming(field: "model")
}
