import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

// One after another: each has a database of its own, and a server has only so many connections.
@Suite("Lives of instances", .serialized)
struct LifeTests {
    /// What the predicate says of an owner with a lease that ends in so many seconds, asked by an instance whose own ends in so many, while
    /// the last return was so many seconds ago.
    private struct Case: CustomTestStringConvertible, Sendable {
        var isDead: Bool
        var why: String
        var ownerLease: Double?
        var ownerEpoch = 1
        var askerLease: Double? = 5
        var returnedAgo: Double?
        var testDescription: String { why }
    }

    private static let ground = Task { try await StoreFixture() }

    private static let cases = [
        Case(isDead: false, why: "a valid lease", ownerLease: 0.1),
        Case(isDead: false, why: "a little late", ownerLease: -1.4),
        Case(isDead: true, why: "too late", ownerLease: -1.6),
        Case(isDead: true, why: "no row", ownerLease: nil),
        Case(isDead: true, why: "a later life has a valid lease", ownerLease: 5, ownerEpoch: 2),
        Case(isDead: true, why: "an earlier life cannot own a later turn", ownerLease: 5, ownerEpoch: 0),
        Case(isDead: false, why: "the asker's lease is over too", ownerLease: -60, askerLease: -0.1),
        Case(isDead: false, why: "the asker is not registered", ownerLease: -60, askerLease: nil),
        Case(isDead: false, why: "somebody has just come back", ownerLease: -60, returnedAgo: 14.5),
        Case(isDead: true, why: "somebody came back a while ago", ownerLease: -60, returnedAgo: 15.5),
        Case(isDead: true, why: "a later life needs no waiting", ownerLease: 5, ownerEpoch: 2, askerLease: nil, returnedAgo: 0),
    ]

    @Test("a life is over when its lease is, unless nobody could renew; a later life proves it at once", arguments: cases)
    private func predicate(_ it: Case) async throws {
        let store = try await Self.ground.value
        let (owner, asker) = (UUID(), UUID())
        // In a transaction that is rolled back: to each case the table is empty, and its clock stands still.
        let isDead: Bool = try await store.admin.withConnection { lease in
            try await lease.execute("begin")
            let insert: Query = "insert into gateway.instances (id, epoch, lease_expires_at, recovered_at) select"
            if let seconds = it.ownerLease {
                try await lease.execute("\(insert) \(owner), \(it.ownerEpoch), now() + make_interval(secs => \(seconds)), null")
            }
            if let seconds = it.askerLease {
                try await lease.execute("\(insert) \(asker), 7, now() + make_interval(secs => \(seconds)), null")
            }
            if let seconds = it.returnedAgo {
                try await lease.execute("\(insert) \(UUID()), 1, now(), now() - make_interval(secs => \(seconds))")
            }
            let answer: Bool = try await lease.query("select gateway.is_dead(\(owner), 1, \(asker), 7, now())") { rows in
                try rows.only { row in try row.value(0) }
            }
            try await lease.execute("rollback")
            return answer
        }
        #expect(isDead == it.isDead)
    }

    @Test("each start of an instance is a later life, also when its row was lost")
    func epochs() async throws {
        let store = try await StoreFixture()
        let id = UUID()
        var epochs: [Int64] = []
        for _ in 0..<3 { epochs.append(try await Life(store, of: id).owner.epoch) }
        try await store.admin.execute("delete from gateway.instances")
        epochs.append(try await Life(store, of: id).owner.epoch)
        #expect(epochs == epochs.sorted() && Set(epochs).count == 4)
    }

    @Test("an instance without a registration begins no turn and says when to ask again")
    func unregistered() async throws {
        let store = try await StoreFixture.shared()
        let instance = GatewayInstance(id: UUID(), client: store.gateway)
        let turns = TurnStore(client: store.gateway, owner: { try instance.owner() }, limits: { TurnLimits() })
        await #expect(throws: StoreFault.unavailable(retryAfter: 1)) {
            try await turns.begin(.someone(), TurnRequest(message: "Hello"), risk: .calm)
        }
        await #expect(throws: StoreFault.unavailable(retryAfter: 1)) { try await turns.checkpoint([]) }
        try await instance.registerWhenReachable()
        _ = try await turns.begin(.someone(), TurnRequest(message: "Hello"), risk: .calm).begun
    }

    @Test("a renewal after more than half a lease counts as a return, a punctual one does not")
    func returning() async throws {
        let store = try await StoreFixture()
        let life = try await Life(store)
        func returned() async throws -> String? {
            try await store.value("select recovered_at::text from gateway.instances where id = \(life.instance)")
        }
        try await life.ended(-5.5, ago: store)
        #expect(try await life.turns.checkpoint([]) == [])
        #expect(try await returned() == nil)
        try await life.ended(-2.5, ago: store)
        #expect(try await life.turns.checkpoint([]) == [])
        #expect(try await returned() != nil)
        #expect(
            try await store.value(
                "select lease_expires_at - clock_timestamp() between '3.1 s' and '6 s' from gateway.instances where id = \(life.instance)")
                == "t")
    }

    @Test("an earlier life can no longer checkpoint, and does not harm the later one")
    func outlived() async throws {
        let store = try await StoreFixture()
        let earlier = try await Life(store)
        let later = try await Life(store, of: earlier.instance)
        await #expect(throws: StoreFault.self) { try await earlier.turns.checkpoint([]) }
        #expect(try await later.turns.checkpoint([]) == [])
        // The row was lost, with a restored backup: whoever lives goes on.
        try await store.admin.execute("delete from gateway.instances")
        #expect(try await later.turns.checkpoint([]) == [])
        #expect(try await store.value("select epoch::text from gateway.instances") == "\(later.owner.epoch)")
    }

    @Test("a survivor sees the turns of a killed instance when its lease is over")
    func killed() async throws {
        let store = try await StoreFixture()
        let (killed, survivor) = (try await Life(store), try await Life(store))
        for life in [killed, survivor] { try await life.ended(-600, ago: store) }
        let identity = try await killed.begin(.someone())
        #expect(try await survivor.turns.orphans() == [])
        try await killed.ended(2, ago: store)
        #expect(try await survivor.turns.orphans().map(\.facts.identity) == [identity])
        #expect(try await killed.turns.orphans() == [])
    }

    @Test("a restarted instance sees the turns of its own earlier life at once")
    func restarted() async throws {
        let store = try await StoreFixture()
        let earlier = try await Life(store)
        let identity = try await earlier.begin(.someone())
        try await earlier.ended(60, ago: store)
        let later = try await Life(store, of: earlier.instance)
        let own = try await later.begin(.someone())
        #expect(try await later.turns.orphans().map(\.facts.identity) == [identity])
        #expect(own.turnID != identity.turnID)
    }

    @Test("after a minute without the database nobody is taken for dead, whoever comes back first")
    func outage() async throws {
        let store = try await StoreFixture()
        let lives = [try await Life(store), try await Life(store), try await Life(store)]
        for life in lives { for _ in 0..<10 { _ = try await life.begin(.someone()) } }
        for life in lives { try await life.ended(54, ago: store) }

        // Before anybody has renewed nobody may judge; the first one back, like a newcomer, waits for the others.
        for life in lives { #expect(try await life.turns.orphans() == []) }
        _ = try await lives[0].turns.checkpoint([])
        #expect(try await lives[0].turns.orphans() == [])
        let newcomer = try await Life(store)
        try await newcomer.ended(-600, ago: store)
        #expect(try await newcomer.turns.orphans() == [])
        _ = try await lives[1].turns.checkpoint([])
        try await store.returned(5)
        #expect(try await newcomer.turns.orphans() == [])

        // The third never comes back.
        try await store.returned(16)
        #expect(try await newcomer.turns.orphans().count == 10)
    }

    @Test("a newcomer after an outage waits, unless somebody has renewed all along")
    func newcomer() async throws {
        let store = try await StoreFixture()
        let (dead, living) = (try await Life(store), try await Life(store))
        _ = try await dead.begin(.someone())
        try await dead.ended(60, ago: store)
        try await living.ended(-600, ago: store)
        let first = try await Life(store)
        #expect(try await first.turns.orphans().count == 1)
        for life in [living, first] { try await life.ended(1, ago: store) }
        let second = try await Life(store)
        try await second.ended(-600, ago: store)
        #expect(try await second.turns.orphans() == [])
        try await store.returned(16)
        #expect(try await second.turns.orphans().count == 1)
    }
}
