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
            if record.deletedAt != nil { messages = messages.filter { owners[$0.key] != record.id } }
        case .message(let record, let conversation):
            messages[record.id] = record
            owners[record.id] = conversation
        case .persona(let persona): personas[persona.id] = persona
        case .ownPersona(let persona): ownPersonas[persona.id] = persona
        case .personaRemoved(let id): (personas[id], ownPersonas[id]) = (nil, nil)
        }
    }
    private var owners: [MessageID: ConversationID] = [:]

    init(_ store: StoreFixture, _ caller: Caller) {
        sync = .postgres(client: store.gateway)
        self.caller = caller
    }
}

/// The number of pages that were read.
final class PageCounter: Sendable {
    private let pages = Mutex(0)

    var count: Int { pages.withLock { $0 } }

    func increment() { pages.withLock { $0 += 1 } }
}
