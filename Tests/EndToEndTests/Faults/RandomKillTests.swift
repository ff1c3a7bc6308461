import Foundation
import Synchronization
import TestSupport
import Testing

/// `kill -9` of the gateway at random moments, under load. `COACH_TEST_KILLS` sets the number of kills; a hundred take about two minutes.
/// `deploy/chaos` runs more.
@Suite("Random kills under load", .paced)
struct RandomKillTests {
    private static let kills = ProcessInfo.processInfo.environment["COACH_TEST_KILLS"].flatMap { Int($0) } ?? 25
    private static let people = 6

    @Test("lose no acknowledged message, at most 500 ms of text, and no bill; a resume returns the kept length")
    func manyKills() async throws {
        let simulator = try await TestBed.shared().simulator
        let database = try await Database.ofItsOwn()
        let folder = try StateFolder()
        let place = Place()
        let tales = try await withThrowingTaskGroup(of: [Tale].self) { group in
            for _ in 0..<Self.people { group.addTask { try await person(place) } }
            group.addTask {
                // Also when it fails, so that the users do not wait for ever.
                defer { place.close() }
                for kill in 0...Self.kills {
                    let gateway = try await Gateway(
                        database: database.gatewayURL, simulator: simulator.url, environment: folder.state(), untilReady: false)
                    place.opened(gateway)
                    if kill == Self.kills {
                        try await gateway.waitUntilReady()
                        place.close()
                        break
                    }
                    try await Task.sleep(for: .milliseconds(.random(in: 50...700)))
                    place.killed.withLock { $0.append(.now) }
                    try await gateway.program.kill9()
                }
                return []
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        try await eventually("the end of all turns") {
            try await database.rows("select 1 as one from turns where status = 'running'").isEmpty
        }
        let turns = Dictionary(uniqueKeysWithValues: try await database.rows("select * from turns").map { ($0["id"] ?? "", $0) })
        let messages = try await database.rows("select * from messages")
        let users = Dictionary(grouping: messages.filter { $0["role"] == "user" }) { $0["user_id"] ?? "" }
        let answers = Dictionary(grouping: messages.filter { $0["role"] == "assistant" }) { $0["turn_id"] ?? "" }
        let bills = Dictionary(grouping: try await database.rows("select * from model_calls")) { $0["turn_id"] ?? "" }
        let killed = place.killed.withLock { $0 }

        for tale in tales {
            let turn = try #require(turns[tale.turn], "acknowledged and lost: \(tale.turn)")
            let said = users[tale.user] ?? []
            #expect(said.count == 1 && said.first?["content"] == tale.message)
            let content = answers[tale.turn]?.first?["content"] ?? ""
            #expect(answers[tale.turn]?.count ?? 0 <= 1 && content == tale.text, "\(tale.end?.data ?? "") \(tale.text) / \(content)")
            let ofAttempt = Dictionary(grouping: bills[tale.turn] ?? []) { $0.number("attempt") ?? 0 }
            #expect(ofAttempt.values.allSatisfy { $0.count == 1 })
            if tale.end?.type == "done" {
                #expect(turn["status"] == "complete")
                continue
            }
            #expect(turn["status"] == "interrupted" && turn["finalized_by"] == "recovery", "\(tale.end?.data ?? "") \(turn)")
            #expect(tale.end?.fields.number("kept_bytes") == content.utf8.count && !content.isEmpty)
            #expect(ofAttempt[turn.number("attempt") ?? 0]?.first?.flag("estimated") == true)
            // The kill that cut the stream is the first after its last word, or just before, because a word may be read a moment after
            // the kill. A gateway runs for longer than that.
            guard let last = tale.arrivals.last?.at, let cut = killed.first(where: { $0 >= last - .milliseconds(150) }) else { continue }
            let due = tale.arrivals.last { $0.at.duration(to: cut) >= .milliseconds(500) }?.position ?? 0
            #expect(content.utf8.count >= due, "\(content.utf8.count) of \(due) bytes")
        }
        #expect(try await database.isBalanced())
        let (cut, whole) = (tales.filter { $0.end?.type == "error" }, tales.filter { $0.end?.type == "done" })
        #expect(!cut.isEmpty && !whole.isEmpty, "\(cut.count) cut, \(whole.count) whole")

        // An interrupted message may be answered again.
        let gateway = try #require(place.gateway)
        for tale in cut.suffix(5) {
            let again = try await TestUser(gateway: gateway, id: tale.user).retry(tale.turn)
            #expect(again.status == 200 && again.eventTypes.last == "done", "\(again.text)")
        }
        print(
            "\(killed.count) kills, \(tales.count) turns: \(whole.count) whole, \(cut.count) cut,",
            "\(tales.count { $0.attempts > 1 }) tried again, \(tales.reduce(0) { $0 + $1.streams - 1 }) resumed")
    }

    /// Sends messages to the running gateway, one after another, until the kills are over; reads each answer to its end.
    private func person(_ place: Place) async throws -> [Tale] {
        var tales: [Tale] = []
        while !place.isClosed {
            let user = UUID().uuidString.lowercased()
            let script = sim(["words": .random(in: 5...80) as Int, "pace_ms": 12, "first_token_ms": .random(in: 0...200) as Int])
            var tale = Tale(user: user, message: "Hello \(script)")
            let deadline = ContinuousClock.now + .seconds(40)
            while tale.end == nil {
                guard ContinuousClock.now < deadline else { throw Program.Failure(description: "no end within 40 s: \(tale)") }
                guard let gateway = place.gateway else {
                    try await Task.sleep(for: .milliseconds(20))
                    continue
                }
                // A connection to a killed gateway breaks, or cannot be opened.
                do { try await tale.read(TestUser(gateway: gateway, id: user)) } catch is Wire.Failure {}
                if tale.end == nil { try await Task.sleep(for: .milliseconds(20)) }
            }
            tales.append(tale)
        }
        return tales
    }
}

/// The port of the running gateway.
private final class Place: Sendable {
    private let current = Mutex<(gateway: Gateway?, isClosed: Bool)>((nil, false))
    let killed = Mutex<[ContinuousClock.Instant]>([])

    var gateway: Gateway? { current.withLock { $0.gateway } }
    var isClosed: Bool { current.withLock { $0.isClosed } }
    func opened(_ gateway: Gateway) { current.withLock { $0.gateway = gateway } }
    func close() { current.withLock { $0.isClosed = true } }
}

/// One message, and what its client has read of the answer.
private struct Tale: Sendable {
    var user: String
    var message: String
    var turn = ""
    var text = ""
    var arrivals: [(at: ContinuousClock.Instant, position: Int)] = []
    var streams = 0
    var attempts = 1
    /// `done`, or an `error` after which something is kept.
    var end: Event?
    private var asksAnew = true

    init(user: String, message: String) { (self.user, self.message) = (user, message) }

    /// Reads one stream as far as it goes.
    mutating func read(_ testUser: TestUser) async throws {
        let stream =
            asksAnew
            ? try await testUser.openStream(message, ["client_message_id": "k"], headers: ["Accept": "text/event-stream"])
            : try await testUser.follow(turn, after: text.utf8.count)
        guard stream.status == 200 else { return stream.hangUp() }
        if asksAnew { (text, arrivals) = ("", []) }
        try await stream.toEnd()
        streams += 1
        text += stream.text
        arrivals += stream.arrivals
        if let start = stream.events.first, start.type == "start" {
            #expect(turn.isEmpty || turn == start["turn_id"])
            (turn, asksAnew) = (start["turn_id"] ?? "", false)
            attempts = start.fields.number("attempt") ?? 1
        }
        guard let last = stream.end else { return }
        guard last.type == "error" else { return end = last }
        let kept = last.fields.number("kept_bytes") ?? 0
        text = String(decoding: Array(text.utf8).prefix(kept), as: UTF8.self)
        if kept > 0 { return end = last }
        // Nothing is kept: the attempt failed, or the text is another attempt's. A repeated request begins or joins the next one.
        (asksAnew, arrivals) = (true, [])
    }
}
