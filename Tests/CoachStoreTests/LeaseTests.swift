import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

// One after another: each has a database of its own, and a server has only so many connections.
@Suite("Lives of instances", .serialized)
struct LeaseTests {
    /// What the predicate says of an owner who was silent for so long, asked by an instance that was silent for so long, when somebody came back
    /// so long ago; in seconds.
    private struct Case: CustomTestStringConvertible, Sendable {
        var isDead: Bool
        var why: String
        var owner: Double?
        var ownerEpoch = 1
        var asker: Double? = 0
        var returnedAgo: Double?
        var testDescription: String { why }
    }

    private static let ground = Task { try await StoreFixture() }

    private static let cases = [
        Case(isDead: false, why: "it has just renewed", owner: 0),
        Case(isDead: false, why: "it is a little late", owner: 6.9),
        Case(isDead: true, why: "it is too late", owner: 7.1),
        Case(isDead: true, why: "no row", owner: nil),
        Case(isDead: true, why: "a later life renews", owner: 0, ownerEpoch: 2),
        Case(isDead: true, why: "an earlier life cannot own a later turn", owner: 0, ownerEpoch: 0),
        Case(isDead: false, why: "the asker is silent too", owner: 60, asker: 4),
        Case(isDead: false, why: "the asker is not registered", owner: 60, asker: nil),
        Case(isDead: false, why: "somebody has just come back", owner: 10, returnedAgo: 2),
        Case(isDead: false, why: "somebody has just come back, and there is no row", owner: nil, returnedAgo: 14.9),
        Case(isDead: true, why: "somebody came back a while ago", owner: 10, returnedAgo: 15.1),
        Case(isDead: true, why: "the database was there for the whole grace, though not at once", owner: 15.1, returnedAgo: 2),
        Case(isDead: true, why: "a later life needs no waiting", owner: 0, ownerEpoch: 2, asker: nil, returnedAgo: 0),
    ]

    @Test("a life is over when it is silent for a lease, unless nobody could renew; a later life proves it at once", arguments: cases)
    private func predicate(_ it: Case) async throws {
        let store = try await Self.ground.value
        let (owner, asker) = (UUID(), UUID())
        // In a transaction that is rolled back: to each case the table is empty, and its time stands still. The clock is at 100 s.
        let isDead: Bool = try await store.admin.withConnection { lease in
            try await lease.execute("begin")
            func insert(_ id: UUID, epoch: Int, silent: Double, returnedAgo: Double? = nil) async throws {
                try await lease.execute(
                    """
                    insert into gateway.instances (id, epoch, renewed_at, clock, returned_at)
                    select \(id), \(epoch), now() - make_interval(secs => \(silent)), make_interval(secs => 100 - \(silent)::float8),
                        make_interval(secs => 100 - \(returnedAgo ?? 1000)::float8)
                    """)
            }
            try await insert(UUID(), epoch: 1, silent: 0, returnedAgo: it.returnedAgo)
            if let seconds = it.owner { try await insert(owner, epoch: it.ownerEpoch, silent: seconds) }
            if let seconds = it.asker { try await insert(asker, epoch: 7, silent: seconds) }
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
        for _ in 0..<3 { epochs.append(try await TestInstance(store, of: id).owner.epoch) }
        try await store.admin.execute("delete from gateway.instances")
        epochs.append(try await TestInstance(store, of: id).owner.epoch)
        #expect(epochs == epochs.sorted() && Set(epochs).count == 4)
    }

    @Test("a life that was named again, or by a process that is dead, begins no other; a clock that was set back begins one all the same")
    func late() async throws {
        let store = try await StoreFixture()
        let id = UUID()
        let now = Date()
        let setBack = GatewayInstance(id: id, client: store.gateway, began: now - 5)
        let living = GatewayInstance(id: id, client: store.gateway, began: now)
        try await living.register()
        let owner = try living.owner()
        let turns = store.turns(owner: owner)
        // What a frozen database does when it wakes up: statements whose processes have gone on, or have been killed.
        try await living.register()
        _ = try await store.value("select gateway.register_instance(\(id), \(owner.epoch - 5_000_000))::text")
        #expect(try await turns.renewLease() == [])
        #expect(try living.owner() == owner)
        // Also when the row was lost, and the dead one's last word was the first that came after.
        try await store.admin.execute("delete from gateway.instances")
        _ = try await store.value("select gateway.renew_lease(\(id), \(owner.epoch - 5_000_000))::text")
        #expect(try await turns.renewLease() == [])
        // A process that lives, on a machine whose clock was set back.
        try await setBack.register()
        #expect(try setBack.owner().epoch == owner.epoch + 1)
        await #expect(throws: LeaseLost.self) { try await turns.renewLease() }
    }

    @Test("an instance without a registration begins no turn and says when to ask again")
    func unregistered() async throws {
        let store = try await StoreFixture.shared()
        let instance = GatewayInstance(id: UUID(), client: store.gateway)
        let turns = TurnPorts(client: store.gateway, owner: { try instance.owner() })
        await #expect(throws: StoreFault.unavailable(retryAfter: 1)) {
            try await turns.begin(.someone(), TurnRequest(message: "Hello"), risk: .calm)
        }
        await #expect(throws: StoreFault.unavailable(retryAfter: 1)) { try await turns.renewLease() }
        try await instance.registerWhenReachable()
        _ = try await turns.begin(.someone(), TurnRequest(message: "Hello"), risk: .calm).begun
    }

    @Test(
        "the first who renews after nobody did has come back, and the clock has stood still; the second has not, nor has one who was slow")
    func returning() async throws {
        let store = try await StoreFixture()
        let (first, second) = (try await TestInstance(store), try await TestInstance(store))
        // Slow alone.
        try await store.passed(5, without: [second])
        #expect(try await second.turns.renewLease() == [])
        #expect(try await store.value("select count(returned_at)::text from gateway.instances") == "0")
        // Away for less than anybody could mistake for death.
        try await store.wasAway(3)
        #expect(try await first.turns.renewLease() == [])
        #expect(try await store.value("select count(returned_at)::text from gateway.instances") == "0")
        try await store.wasAway(60)
        #expect(try await second.turns.renewLease() == [])
        #expect(try await first.turns.renewLease() == [])
        #expect(try await store.value("select count(returned_at)::text from gateway.instances") == "1")
        #expect(try await store.value("select max(clock) between '8 s' and '20 s' from gateway.instances") == "t")
    }

    @Test("an earlier life can no longer checkpoint, and does not harm the later one")
    func outlived() async throws {
        let store = try await StoreFixture()
        let earlier = try await TestInstance(store)
        let later = try await TestInstance(store, of: earlier.instance)
        await #expect(throws: LeaseLost.self) { try await earlier.turns.renewLease() }
        #expect(try await later.turns.renewLease() == [])
        // The row was lost, with a restored backup: whoever lives goes on.
        try await store.admin.execute("delete from gateway.instances")
        #expect(try await later.turns.renewLease() == [])
        #expect(try await store.value("select epoch::text from gateway.instances") == "\(later.owner.epoch)")
    }

    @Test("a survivor sees the turns of a killed instance when its lease is over")
    func killed() async throws {
        let store = try await StoreFixture()
        let (killed, survivor) = (try await TestInstance(store), try await TestInstance(store))
        let identity = try await killed.begin(.someone())
        try await store.passed(3, without: [killed])
        #expect(try await survivor.turns.orphans() == [])
        try await store.passed(4.1, without: [killed])
        #expect(try await survivor.turns.orphans().map(\.facts.identity) == [identity])
    }

    @Test("a restarted instance sees the turns of its own earlier life at once")
    func restarted() async throws {
        let store = try await StoreFixture()
        let earlier = try await TestInstance(store)
        let identity = try await earlier.begin(.someone())
        try await store.wasAway(60)
        let later = try await TestInstance(store, of: earlier.instance)
        let own = try await later.begin(.someone())
        #expect(try await later.turns.orphans().map(\.facts.identity) == [identity])
        #expect(own.turnID != identity.turnID)
    }

    @Test("after a minute without the database nobody is taken for dead, whoever comes back first; who stays away is, after the grace")
    func outage() async throws {
        let store = try await StoreFixture()
        let peers = [try await TestInstance(store), try await TestInstance(store), try await TestInstance(store)]
        for peer in peers { for _ in 0..<10 { _ = try await peer.begin(.someone()) } }
        try await store.wasAway(60)

        // Before anybody has renewed nobody may judge; the first one back, like a newcomer, waits for the others.
        for peer in peers { #expect(try await peer.turns.orphans() == []) }
        _ = try await peers[0].turns.renewLease()
        #expect(try await peers[0].turns.orphans() == [])
        let newcomer = try await TestInstance(store)
        #expect(try await newcomer.turns.orphans() == [])
        _ = try await peers[1].turns.renewLease()
        try await store.passed(13, without: [peers[2]])
        #expect(try await newcomer.turns.orphans() == [])

        // The third never comes back.
        try await store.passed(2.1, without: [peers[2]])
        #expect(try await newcomer.turns.orphans().count == 10)
    }

    @Test("a database that goes away again and again does not put off a death: the times in which it was there add up")
    func flapping() async throws {
        let store = try await StoreFixture()
        let (killed, survivor) = (try await TestInstance(store), try await TestInstance(store))
        let identity = try await killed.begin(.someone())
        for _ in 0..<3 {
            try await store.wasAway(20)
            _ = try await survivor.turns.renewLease()
            #expect(try await survivor.turns.orphans() == [])
            try await store.passed(4.5, without: [killed])
            #expect(try await survivor.turns.orphans() == [])
        }
        try await store.wasAway(20)
        _ = try await survivor.turns.renewLease()
        try await store.passed(1.6, without: [killed])
        #expect(try await survivor.turns.orphans().map(\.facts.identity) == [identity])
    }

    @Test("a newcomer judges at once when somebody has renewed all along, and waits for the grace when nobody has")
    func newcomer() async throws {
        let store = try await StoreFixture()
        let (dead, living) = (try await TestInstance(store), try await TestInstance(store))
        _ = try await dead.begin(.someone())
        try await store.passed(7.1, without: [dead])
        let first = try await TestInstance(store)
        #expect(try await first.turns.orphans().count == 1)
        try await store.wasAway(60)
        let second = try await TestInstance(store)
        #expect(try await second.turns.orphans() == [])
        try await store.passed(15.1, without: [dead, living])
        #expect(try await second.turns.orphans().count == 1)
    }

    @Test(
        "two instances that are killed together are noticed by the first that comes back: its own turns at once, the other's after the grace"
    )
    func both() async throws {
        let store = try await StoreFixture()
        let (one, other) = (try await TestInstance(store), try await TestInstance(store))
        let (own, others) = (try await one.begin(.someone()), try await other.begin(.someone()))
        try await store.wasAway(5)
        let again = try await TestInstance(store, of: one.instance)
        #expect(try await again.turns.orphans().map(\.facts.identity) == [own])
        try await store.passed(15.1, without: [other])
        #expect(Set(try await again.turns.orphans().map(\.facts.identity.turnID)) == [own.turnID, others.turnID])
    }

    @Test("a database clock that was set back by an hour hides no death, and kills nobody who lives")
    func clockSetBack() async throws {
        let store = try await StoreFixture()
        let (killed, survivor, other) = (try await TestInstance(store), try await TestInstance(store), try await TestInstance(store))
        let lost = try await killed.begin(.someone())
        _ = try await other.begin(.someone())
        // What was renewed before the step is an hour ahead of the clock now.
        try await store.admin.execute("update gateway.instances set renewed_at = renewed_at + interval '1 hour'")
        try await store.admin.execute("update gateway.running_turns set started_at = started_at + interval '1 hour'")
        #expect(try await survivor.turns.orphans() == [], "who has not renewed since cannot judge")
        for peer in [survivor, other] { _ = try await peer.turns.renewLease() }
        #expect(try await survivor.turns.orphans() == [])
        // The clock goes on with those that renew: it does not stand still until the hour is over.
        let reading: Query = "select reading::text from gateway.read_clock(clock_timestamp() + interval '900 ms')"
        let before = try await store.value(reading)
        #expect(
            try await store.value(
                "select (reading > \(before)::interval)::text from gateway.read_clock(clock_timestamp() + interval '950 ms')") == "true")
        try await store.passed(15.1, without: [killed])
        for peer in [survivor, other] { _ = try await peer.turns.renewLease() }
        #expect(try await survivor.turns.orphans().map(\.facts.identity) == [lost])
    }

    @Test("a database clock that was set ahead by an hour is an outage for everybody, and kills nobody")
    func clockSetAhead() async throws {
        let store = try await StoreFixture()
        let (one, other) = (try await TestInstance(store), try await TestInstance(store))
        _ = try await other.begin(.someone())
        try await store.wasAway(3_600)
        _ = try await one.turns.renewLease()
        #expect(try await one.turns.orphans() == [])
        _ = try await other.turns.renewLease()
        try await store.passed(15.1)
        #expect(try await one.turns.orphans() == [])
    }
}
