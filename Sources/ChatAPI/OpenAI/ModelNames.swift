import CoachCore
import Synchronization
import TokenRelay

/// The names of the models that answer turns: `coach`, or `coach:` with the persona's slug.
public final class ModelNames: Sendable {
    private static let mostSlugs = 10_000

    private let personas: PersonaRepository
    /// The names of personas that were looked up. A slug never changes.
    private let slugs = Mutex<[PersonaID: String]>([:])

    public init(personas: PersonaRepository) { self.personas = personas }

    /// The model that answers a turn, whichever its request named: a conversation keeps its persona, and a user in danger gets the plain coach for an
    /// unknown one. By the persona's id when the user may not use it any more, or the database cannot be read. Asks it once for a persona.
    func name(of turn: LiveTurn, _ caller: Caller) async -> String {
        guard let id = turn.facts.personaID else { return CoachModel.name(nil) }
        if let slug = slugs.withLock({ $0[id] }) { return CoachModel.name(id, slug: slug) }
        guard let slug = try? await personas.publishedOne(caller, id).slug else { return CoachModel.name(id) }
        slugs.withLock { slugs in
            if slugs.count >= Self.mostSlugs { slugs = [:] }
            slugs[id] = slug
        }
        return CoachModel.name(id, slug: slug)
    }
}
