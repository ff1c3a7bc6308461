import CoachCore
import CoachStore
import Synchronization
import Testing

/// A client that keeps a copy of all data and requests only changes.
struct OfflineCopy {
    let sync: SyncRepository
    let pages = PageCounter()
    let caller: Caller
    var profile: ContextProfileVersion?
    var conversations: [ConversationID: ConversationRecord] = [:]
    var messages: [MessageID: MessageRecord] = [:]
    var personas: [PersonaID: PublishedPersona] = [:]
    var ownPersonas: [PersonaID: PersonaRecord] = [:]
    var token: String?
    var resets = 0

    init(_ store: StoreFixture, _ caller: Caller) {
        sync = .postgres(client: store.gateway)
        self.caller = caller
    }

    mutating func synchronise(limit: Int = 3) async throws {
        while true {
            let page = try await sync.changes(caller, token, limit)
            pages.increment()
            #expect(page.items.count <= limit)
            if page.position.isReset {
                (profile, conversations, messages, personas, ownPersonas) = (nil, [:], [:], [:], [:])
                resets += 1
            }
            for change in page.items { apply(change) }
            token = page.position.next
            if !page.position.hasMore { return }
        }
    }

    private mutating func apply(_ change: SyncChange) {
        switch change {
        case .profile(let version): profile = version
        case .conversation(let record):
            conversations[record.id] = record.deletedAt == nil ? record : nil
            if record.deletedAt != nil { messages = messages.filter { $0.value.conversationID != record.id } }
        case .message(let record): messages[record.id] = record
        case .persona(let persona): personas[persona.id] = persona
        case .ownPersona(let persona): ownPersonas[persona.id] = persona
        case .personaRemoved(let id): (personas[id], ownPersonas[id]) = (nil, nil)
        }
    }

    /// Expects that the copy equals the lists of the store.
    func expectEqual(_ store: StoreFixture) async throws {
        let list = try await store.conversations.list(caller, limit: 10_000).items
        #expect(Set(conversations.values.map(\.id)) == Set(list.map(\.id)))
        #expect(list.allSatisfy { conversations[$0.id] == $0 })
        var count = 0
        for conversation in list {
            let saved = try await store.conversations.messages(caller, conversation.id, limit: 10_000).items
            #expect(saved.allSatisfy { messages[$0.id] == $0 })
            count += saved.count
        }
        #expect(messages.count == count)
        let savedProfile = try await ContextProfileRepository.postgres(client: store.gateway).get(caller)
        #expect(profile ?? savedProfile == savedProfile && (profile != nil || savedProfile.version == 0))
        let (page, repository) = (PageRequest(limit: 10_000), store.personas())
        let own = try await repository.own(caller, page).items
        #expect(ownPersonas == Dictionary(uniqueKeysWithValues: own.map { ($0.id, $0) }))
        let published = try await repository.published(caller, page).items.filter { persona in !own.contains { $0.id == persona.id } }
        #expect(personas == Dictionary(uniqueKeysWithValues: published.map { ($0.id, $0) }))
    }
}

/// The number of pages that were read.
final class PageCounter: Sendable {
    private let pages = Mutex(0)

    var count: Int { pages.withLock { $0 } }

    func increment() { pages.withLock { $0 += 1 } }
}
