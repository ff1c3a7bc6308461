import CoachCore
import CoachStore
import PostgresClient
import TestSupport
import Testing

@Suite("The order of changes")
struct SyncOrderTests {
    @Test("returns a user's rows in the order of their changes, within pages and over them, and then personas in the order of theirs")
    func order() async throws {
        let store = try await StoreFixture()
        let (caller, creator) = (Caller.someone(role: .creator), Caller.someone(role: .creator))
        for user in [caller, creator] { _ = try await store.requests().take(user) }
        let profiles = ContextProfileRepository.postgres(client: store.gateway)
        var changes = RandomChanges(store, caller, seed: 5)
        var ids: [ConversationID] = []
        for number in 0..<4 { ids.append(try await store.turns().talk(caller, "\(number)").conversationID) }
        var personas: [PersonaID] = []
        for _ in 0..<3 { personas.append(try await store.personas().create(caller, .random(), try .named("Own")).id) }
        for _ in 0..<3 { _ = try await store.persona(of: creator.userID) }
        for number in 0..<60 {
            let conversation = ids[Int.random(in: 0..<ids.count, using: &changes.random)]
            switch number % 6 {
            case 0: _ = try await profiles.edit(caller, .init(fields: [.goals: [.string("\(number)")]], expectedVersions: nil))
            case 1: _ = try await store.conversations.patch(caller, conversation, .init(title: "\(number)"))
            case 2:
                let persona = personas[Int.random(in: 0..<personas.count, using: &changes.random)]
                _ = try await store.personas().put(caller, persona, try .named("\(number)"), nil)
            // The turn decides on the domain of its user's message, which changes with it.
            default: try await changes.turn(in: conversation, "\(number)")
            }
        }
        _ = try await store.conversations.delete(caller, ids.removeLast(), nil)

        let sync = SyncRepository.postgres(client: store.gateway)
        var (token, found, pages): (String?, [(isPersona: Bool, number: Int)], Int) = (nil, [], 0)
        while true {
            let page = try await sync.changes(caller, token, 3)
            for item in page.items { found.append(try await number(of: item, caller, store)) }
            (token, pages) = (page.position.next, pages + 1)
            if !page.position.hasMore { break }
        }
        let own = found.filter { !$0.isPersona }.map(\.number), others = found.filter(\.isPersona).map(\.number)
        #expect(own.count > 30 && others.count >= 6 && pages > 10, "\(found)")
        #expect(own == own.sorted() && others == others.sorted())
        #expect(found.map(\.isPersona) == own.map { _ in false } + others.map { _ in true })
        #expect(Set(own).count > 20)
    }

    /// The number by which a change is ordered, read as the superuser.
    private func number(of change: SyncChange, _ caller: Caller, _ store: StoreFixture) async throws -> (isPersona: Bool, number: Int) {
        let user = caller.userID.uuid
        switch change {
        case .profile: return (false, try await store.count("select change from public.context_profiles where user_id = \(user)"))
        case .conversation(let record):
            return (
                false, try await store.count("select change from public.conversations where user_id = \(user) and id = \(record.id.uuid)")
            )
        case .message(let record):
            return (
                false,
                try await store.count(
                    """
                    select greatest(m.change, t.change) from public.messages m
                    left join public.turns t on t.user_id = m.user_id and t.id = m.turn_id
                    where m.user_id = \(user) and m.id = \(record.id.uuid)
                    """)
            )
        case .persona(let persona): return (true, try await number(of: persona.id, store))
        case .ownPersona(let persona): return (true, try await number(of: persona.id, store))
        case .personaRemoved(let id): return (true, try await number(of: id, store))
        }
    }

    private func number(of persona: PersonaID, _ store: StoreFixture) async throws -> Int {
        try await store.count("select change from public.coaching_personas where id = \(persona.uuid)")
    }
}
