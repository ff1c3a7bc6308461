import CoachCore
import CoachStore
import Foundation
import PostgresClient

/// A gateway instance, one of several on a database.
struct TestInstance: Sendable {
    let instance: UUID
    let owner: TurnOwner
    let turns: TurnPorts

    /// Registers a new epoch, of a new instance unless one is given.
    init(_ store: StoreFixture, of instance: UUID = UUID(), tiers: TierBook = TierBook()) async throws {
        let peer = GatewayInstance(id: instance, client: store.gateway)
        try await peer.register()
        self.instance = instance
        owner = try peer.owner()
        turns = store.turns(tiers, owner: owner)
    }

    /// Begins a turn.
    func begin(_ caller: Caller, _ message: String = "Hello") async throws -> TurnIdentity {
        try await turns.begin(caller, TurnRequest(message: message), risk: .calm).begun.identity
    }
}

extension StoreFixture {
    /// Lets the given seconds pass, in which all instances but some have renewed.
    func passed(_ seconds: Double, without silent: [TestInstance] = []) async throws {
        try await admin.execute(
            "update gateway.instances set clock = clock + make_interval(secs => \(seconds)) where id <> all (\(silent.map(\.instance)))")
    }

    /// Lets the given seconds pass, in which no instance could renew.
    func wasAway(_ seconds: Double) async throws {
        try await admin.execute("update gateway.instances set renewed_at = renewed_at - make_interval(secs => \(seconds))")
    }
}

extension TurnProgress {
    /// The first checkpoint of a turn.
    static func first(
        _ identity: TurnIdentity, of caller: Caller, _ text: String,
        answeredBy: ModelName? = ModelName(provider: "simulator", model: "coach-sim")
    ) -> TurnProgress {
        let facts = TurnFacts(
            userID: caller.userID, identity: identity, day: CalendarDay(containing: Date()),
            domain: DomainDecision(domain: .fitness, confidence: 0.5, source: .message),
            personaID: nil, model: ModelName(provider: "first", model: "choice"), risk: .danger(.crisis),
            region: Region(country: "DE", locale: "de-AT"))
        let start = TurnStart(facts: facts, promptTokens: 77, answeredBy: answeredBy)
        return TurnProgress(identity: identity, start: start, fromByte: 0, text: Array(text.utf8))
    }

    /// A later one.
    func next(_ text: String, from byte: Int? = nil) -> TurnProgress {
        var next = self
        if !self.text.isEmpty || fromByte > 0 { next.start = nil }
        next.fromByte = byte ?? fromByte + self.text.count
        next.text = Array(text.utf8)
        return next
    }
}
