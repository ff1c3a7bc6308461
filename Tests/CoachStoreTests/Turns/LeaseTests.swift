import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Reactor
import TestSupport
import Testing

// Serialized: each test begins without instances and without turns that run, in a database that they share.
@Suite("Instance leases and epochs", .serialized)
struct LeaseTests {
    /// A case of `gateway.has_expired`: how long the owner and the asking instance have not renewed, and when an instance last resumed; in
    /// seconds.
    private struct Case: CustomTestStringConvertible, Sendable {
        var hasExpired: Bool
        var why: String
        var owner: Double?
        var ownerEpoch = 1
        var observer: Double? = 0
        var returnedAgo: Double?
        var testDescription: String { why }
    }

    private static let shared = Task { try await StoreFixture() }

    private func emptyStore() async throws -> StoreFixture {
        let store = try await Self.shared.value
        try await store.admin.execute("delete from gateway.running_turns")
        try await store.admin.execute("delete from gateway.instances")
        return store
    }

    private static let cases = [
        Case(hasExpired: false, why: "it has just renewed", owner: 0),
        Case(hasExpired: false, why: "it is a little late", owner: 6.9),
        Case(hasExpired: true, why: "it is too late", owner: 7.1),
        Case(hasExpired: true, why: "no row", owner: nil),
        Case(hasExpired: true, why: "a later epoch renews", owner: 0, ownerEpoch: 2),
        Case(hasExpired: true, why: "an earlier epoch cannot own a later turn", owner: 0, ownerEpoch: 0),
        Case(hasExpired: false, why: "the observer is silent too", owner: 60, observer: 4),
        Case(hasExpired: false, why: "the observer is not registered", owner: 60, observer: nil),
        Case(hasExpired: false, why: "somebody has just come back", owner: 10, returnedAgo: 2),
        Case(hasExpired: false, why: "somebody has just come back, and there is no row", owner: nil, returnedAgo: 14.9),
        Case(hasExpired: true, why: "somebody came back a while ago", owner: 10, returnedAgo: 15.1),
        Case(hasExpired: true, why: "the database was there for the whole grace, though not at once", owner: 15.1, returnedAgo: 2),
        Case(hasExpired: true, why: "a later epoch needs no waiting", owner: 0, ownerEpoch: 2, observer: nil, returnedAgo: 0),
    ]

    @Test("an epoch has expired when its lease has, unless no instance could renew, or when a later one registered", arguments: cases)
    private func predicate(_ it: Case) async throws {
        let store = try await emptyStore()
        let (owner, observer) = (UUID(), UUID())
        // In a transaction that is rolled back: each case begins with an empty table, and now() is constant. The clock is at 100 s.
        let hasExpired: Bool = try await store.admin.withConnection { lease in
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
            if let seconds = it.observer { try await insert(observer, epoch: 7, silent: seconds) }
            let answer: Bool = try await lease.query("select gateway.has_expired(\(owner), 1, \(observer), 7, now())") { rows in
                try rows.only { row in try row.value(0) }
            }
            try await lease.execute("rollback")
            return answer
        }
        #expect(hasExpired == it.hasExpired)
    }

    @Test("each start of an instance registers a later epoch, also when its row was lost")
    func epochs() async throws {
        let store = try await emptyStore()
        let id = UUID()
        var epochs: [Int64] = []
        for _ in 0..<3 { epochs.append(try await TestInstance(store, of: id).owner.epoch) }
        try await store.admin.execute("delete from gateway.instances")
        epochs.append(try await TestInstance(store, of: id).owner.epoch)
        #expect(epochs == epochs.sorted() && Set(epochs).count == 4)
    }

    @Test("a repeated or late registration has no effect; after the clock was set back a later epoch is registered")
    func late() async throws {
        let store = try await emptyStore()
        let id = UUID()
        let now = Date()
        let setBack = GatewayInstance(id: id, client: store.gateway, began: now - 5)
        let living = GatewayInstance(id: id, client: store.gateway, began: now)
        try await living.register()
        let owner = try living.owner()
        let turns = store.turns(owner: owner)
        // A frozen database that resumes executes statements of processes that have continued or ended.
        try await living.register()
        _ = try await store.value("select gateway.register_instance(\(id), \(owner.epoch - 5_000_000))::text")
        #expect(try await turns.renewLease() == [])
        #expect(try living.owner() == owner)
        // Also when the row was lost, and the ended process's registration is executed first.
        try await store.admin.execute("delete from gateway.instances")
        _ = try await store.value("select gateway.renew_lease(\(id), \(owner.epoch - 5_000_000))::text")
        #expect(try await turns.renewLease() == [])
        // A running process on a machine whose clock was set back.
        try await setBack.register()
        #expect(try setBack.owner().epoch == owner.epoch + 1)
        await #expect(throws: LeaseLost.self) { try await turns.renewLease() }
    }

    @Test("an instance that is not registered begins no turn, and the error has a retry time")
    func unregistered() async throws {
        let store = try await StoreFixture.shared()
        let instance = GatewayInstance(id: UUID(), client: store.gateway)
        let turns = TurnPorts(client: store.gateway, owner: { try instance.owner() })
        let fault = StoreFault.unavailable(retryAfter: 1, reason: "this instance is not registered yet")
        await #expect(throws: fault) {
            try await turns.begin(.someone(), TurnRequest(message: "Hello"), risk: .calm)
        }
        await #expect(throws: fault) { try await turns.renewLease() }
        try await instance.registerWhenReachable()
        _ = try await turns.begin(.someone(), TurnRequest(message: "Hello"), risk: .calm).begun
    }

    @Test(
        "the first who renews after nobody did has come back, and the clock has stood still; the second has not, nor has one who was slow")
    func returning() async throws {
        let store = try await emptyStore()
        let (first, second) = (try await TestInstance(store), try await TestInstance(store))
        // One slow instance.
        try await store.passed(5, without: [second])
        #expect(try await second.turns.renewLease() == [])
        #expect(try await store.value("select count(returned_at)::text from gateway.instances") == "0")
        // Silent for less than a lease.
        try await store.wasAway(3)
        #expect(try await first.turns.renewLease() == [])
        #expect(try await store.value("select count(returned_at)::text from gateway.instances") == "0")
        try await store.wasAway(60)
        #expect(try await second.turns.renewLease() == [])
        #expect(try await first.turns.renewLease() == [])
        #expect(try await store.value("select count(returned_at)::text from gateway.instances") == "1")
        #expect(try await store.value("select max(clock) between '8 s' and '20 s' from gateway.instances") == "t")
    }

    @Test("an earlier epoch can no longer checkpoint, and does not affect the later one")
    func earlierEpoch() async throws {
        let store = try await emptyStore()
        let earlier = try await TestInstance(store)
        let later = try await TestInstance(store, of: earlier.instance)
        await #expect(throws: LeaseLost.self) { try await earlier.turns.renewLease() }
        #expect(try await later.turns.renewLease() == [])
        // The row was lost by a restored backup: the running process continues.
        try await store.admin.execute("delete from gateway.instances")
        #expect(try await later.turns.renewLease() == [])
        #expect(try await store.value("select epoch::text from gateway.instances") == "\(later.owner.epoch)")
    }

    @Test("another instance finds the orphans of a killed instance when its lease has expired")
    func killed() async throws {
        let store = try await emptyStore()
        let (killed, survivor) = (try await TestInstance(store), try await TestInstance(store))
        let identity = try await killed.begin(.someone())
        try await store.passed(3, without: [killed])
        #expect(try await survivor.turns.orphans() == [])
        try await store.passed(4.1, without: [killed])
        #expect(try await survivor.turns.orphans().map(\.facts.identity) == [identity])
    }

    @Test("leases, checkpoints and others' text use the connections of turns while those of their own cannot be opened")
    func withoutOwnConnections() async throws {
        let (store, reactor) = (try await StoreFixture(), try Reactor(name: "no server"))
        reactor.start()
        defer { reactor.stop() }
        let refused = StoreFixture.client("postgres://127.0.0.1:\(try ThrowawayCluster.freePort())/none", reactor)
        let (running, peer, caller) = (try await TestInstance(store), try await TestInstance(store), Caller.someone())
        let own = TurnPorts(client: store.gateway, recoveryClient: refused, owner: { running.owner })
        let others = TurnPorts(client: store.gateway, recoveryClient: refused, owner: { peer.owner })
        let identity = try await running.begin(caller)
        try await store.passed(7.1, without: [running])
        #expect(try await others.orphans().map(\.facts.identity) == [identity])
        #expect(try await own.renewLease() == [])
        #expect(try await own.checkpoint([.first(identity, of: caller, "Good question.")]) != nil)
        #expect(try await others.orphans() == [])
        let cursor = TurnCursor(userID: caller.userID, turnID: identity.turnID, afterByte: 0)
        #expect(try await others.tail([cursor]).map(\.text) == ["Good question."])
        await refused.shutdown(grace: .zero)
    }

    @Test("a restarted instance finds the orphans of its own earlier epoch at once")
    func restarted() async throws {
        let store = try await emptyStore()
        let earlier = try await TestInstance(store)
        let identity = try await earlier.begin(.someone())
        try await store.wasAway(60)
        let later = try await TestInstance(store, of: earlier.instance)
        let own = try await later.begin(.someone())
        #expect(try await later.turns.orphans().map(\.facts.identity) == [identity])
        #expect(own.turnID != identity.turnID)
    }

    @Test("after a minute without the database no instance has expired, except one that stays silent after the grace")
    func outage() async throws {
        let store = try await emptyStore()
        let peers = [try await TestInstance(store), try await TestInstance(store), try await TestInstance(store)]
        for peer in peers { for _ in 0..<10 { _ = try await peer.begin(.someone()) } }
        try await store.wasAway(60)

        // Before a renewal no instance may judge; the first one back waits for the others, like a new one.
        for peer in peers { #expect(try await peer.turns.orphans() == []) }
        _ = try await peers[0].turns.renewLease()
        #expect(try await peers[0].turns.orphans() == [])
        let newcomer = try await TestInstance(store)
        #expect(try await newcomer.turns.orphans() == [])
        _ = try await peers[1].turns.renewLease()
        try await store.passed(13, without: [peers[2]])
        #expect(try await newcomer.turns.orphans() == [])

        // The third does not come back.
        try await store.passed(2.1, without: [peers[2]])
        #expect(try await newcomer.turns.orphans().count == 10)
    }

    @Test("repeated outages of the database do not delay the detection for ever: the available times add up")
    func flapping() async throws {
        let store = try await emptyStore()
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

    @Test("a new instance finds orphans at once if another has renewed all along, otherwise after the grace")
    func newcomer() async throws {
        let store = try await emptyStore()
        let (crashed, running) = (try await TestInstance(store), try await TestInstance(store))
        _ = try await crashed.begin(.someone())
        try await store.passed(7.1, without: [crashed])
        let first = try await TestInstance(store)
        #expect(try await first.turns.orphans().count == 1)
        try await store.wasAway(60)
        let second = try await TestInstance(store)
        #expect(try await second.turns.orphans() == [])
        try await store.passed(15.1, without: [crashed, running])
        #expect(try await second.turns.orphans().count == 1)
    }

    @Test(
        "two instances that are killed together are noticed by the first that comes back: its own turns at once, the other's after the grace"
    )
    func both() async throws {
        let store = try await emptyStore()
        let (one, other) = (try await TestInstance(store), try await TestInstance(store))
        let (own, others) = (try await one.begin(.someone()), try await other.begin(.someone()))
        try await store.wasAway(5)
        let again = try await TestInstance(store, of: one.instance)
        #expect(try await again.turns.orphans().map(\.facts.identity) == [own])
        try await store.passed(15.1, without: [other])
        #expect(Set(try await again.turns.orphans().map(\.facts.identity.turnID)) == [own.turnID, others.turnID])
    }

    @Test("a database clock set back by an hour hides no expired instance, and no running one has expired")
    func clockSetBack() async throws {
        let store = try await emptyStore()
        let (killed, survivor, other) = (try await TestInstance(store), try await TestInstance(store), try await TestInstance(store))
        let lost = try await killed.begin(.someone())
        _ = try await other.begin(.someone())
        // Renewals before the step are an hour ahead of the clock now.
        try await store.admin.execute("update gateway.instances set renewed_at = renewed_at + interval '1 hour'")
        try await store.admin.execute("update gateway.running_turns set started_at = started_at + interval '1 hour'")
        #expect(try await survivor.turns.orphans() == [], "who has not renewed since cannot judge")
        for peer in [survivor, other] { _ = try await peer.turns.renewLease() }
        #expect(try await survivor.turns.orphans() == [])
        // The lease clock advances with the renewals: it does not stop until the hour is over.
        let reading: Query = "select reading::text from gateway.read_clock(clock_timestamp() + interval '900 ms')"
        let before = try await store.value(reading)
        #expect(
            try await store.value(
                "select (reading > \(before)::interval)::text from gateway.read_clock(clock_timestamp() + interval '950 ms')") == "true")
        try await store.passed(15.1, without: [killed])
        for peer in [survivor, other] { _ = try await peer.turns.renewLease() }
        #expect(try await survivor.turns.orphans().map(\.facts.identity) == [lost])
    }

    @Test("a database clock set ahead by an hour counts as an outage, and no instance has expired")
    func clockSetAhead() async throws {
        let store = try await emptyStore()
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
