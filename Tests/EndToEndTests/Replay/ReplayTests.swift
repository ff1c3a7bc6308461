import CoachCore
import Foundation
import JSON
import Synchronization
import TestSupport
import Testing
import Webhooks

/// A year of generated subscribers' events, shuffled and duplicated, sent to a gateway that is repeatedly killed. `deploy/replay` runs
/// the whole.
@Suite("Replay of a year of billing events", .paced)
struct ReplayTests {
    private static let subscribers = setting("SUBSCRIBERS", 30)
    private static let kills = setting("KILLS", 3)
    private static let seed = UInt64(setting("SEED", 1))
    private static let password = "replay-password"

    private static func setting(_ name: String, _ fallback: Int) -> Int {
        ProcessInfo.processInfo.environment["COACH_REPLAY_\(name)"].flatMap { Int($0) } ?? fallback
    }

    @Test("every subscriber ends in the state that EntitlementFold computes from the ordered history")
    func replay() async throws {
        let database = try await Database.ofItsOwn()
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let years = (0..<Self.subscribers).map { SubscriberYear(seed: Self.seed &* 1_000_003 &+ UInt64($0), end: now) }
        var random = SeededGenerator(state: Self.seed)
        let events = years.flatMap(\.bodies)
        let deliveries = (events + events.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }).shuffled(using: &random)

        let stand = try await Stand(
            database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url, password: Self.password)
        let start = ContinuousClock.now
        try await stand.deliver(deliveries, kills: Self.kills)
        let seconds = (ContinuousClock.now - start) / .seconds(1)

        let differences = try await Self.differences(years, database, at: now)
        #expect(differences.prefix(5) == [])
        for year in years.prefix(10) {
            for (user, status) in year.endings {
                let browser = Browser(port: stand.port, token: Token(user: user).text)
                #expect(try await browser.send("GET", "/api/v1/me/subscription").json.object("data")["status"] == status)
            }
        }
        print(
            """
            replay: \(years.count) subscribers, \(events.count) events, \(deliveries.count) deliveries, \(stand.retries) attempts that failed, \
            \(Self.kills) kills, \(String(format: "%.1f", seconds)) s; differences: \(differences.count)
            """)
    }

    /// The differences between the database and the fold.
    private static func differences(_ years: [SubscriberYear], _ database: Database, at now: Int64) async throws -> [String] {
        var timelines: [String: String] = [:]
        for row in try await database.rows("select user_id, timeline from gateway.subscriptions") {
            timelines[row["user_id"] ?? ""] = row["timeline"]
        }
        // By user and entitlement.
        var access: [String: [String: Int64]] = [:]
        let sql = """
            select user_id || case when is_trial then ' trial' else ' paid' end as key, entitlement,
                (extract(epoch from access_until) * 1000)::bigint as until from gateway.user_entitlements
            """
        for row in try await database.rows(sql) {
            access[row["key"] ?? "", default: [:]][row["entitlement"] ?? ""] = row.number("until").map { Int64($0) }
        }
        var differences: [String] = []
        for year in years {
            let events = year.bodies.compactMap { body -> BillingEvent? in
                if case .event(let event) = RevenueCatEvent.parse(body).outcome { event } else { nil }
            }
            if events.count != year.bodies.count { differences.append("\(year.bodies.count - events.count) events were ignored") }
            let users = year.endings.keys.compactMap { SubscriberID($0) }
            for expected in EntitlementFold(events).entitlements(of: users, includingSandbox: false) {
                let user = "\(expected.userID)"
                let stored =
                    timelines.removeValue(forKey: user)
                    .flatMap { try? JSONValue(parsing: Array($0.utf8)) }.flatMap { EntitlementTimeline(json: $0) } ?? .none
                if stored != expected.timeline { differences.append("\(user): the timeline") }
                for (kind, until) in [("paid", expected.paidUntil), ("trial", expected.trialUntil)]
                where access["\(user) \(kind)"] ?? [:] != until.compactMapValues(\.instant?.milliseconds) {
                    differences.append("\(user): the \(kind) entitlements")
                }
                let status = expected.timeline.state(at: BillingInstant(clamping: now)).status.rawValue
                if status != year.endings[user] { differences.append("\(user): \(status), not \(year.endings[user] ?? "")") }
            }
        }
        return differences + timelines.keys.map { "\($0): nobody's" }
    }
}

/// One gateway at a time, replaced when it is killed, and a sender that repeats events until they get 200.
private final class Stand: Sendable {
    private let environment: [String: String]
    private let database: String
    private let simulator: String
    private let password: String
    private let gateway: Mutex<Gateway>
    private let repeated = Atomic(0)

    var retries: Int { repeated.load(ordering: .relaxed) }
    var port: Int { gateway.withLock(\.port) }

    init(database: String, simulator: String, password: String) async throws {
        environment = ["REVENUECAT_WEBHOOK_AUTH": password]
        (self.database, self.simulator, self.password) = (database, simulator, password)
        gateway = Mutex(try await Gateway(database: database, simulator: simulator, environment: environment))
    }

    func deliver(_ bodies: [[UInt8]], kills: Int) async throws {
        let killAt = Set((1...max(kills, 1)).prefix(kills).map { $0 * bodies.count / (kills + 1) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, body) in bodies.enumerated() {
                if index >= 16 { try await group.next() }
                group.addTask { try await self.deliver(body) }
                if killAt.contains(index) { try await restart() }
            }
            try await group.waitForAll()
        }
    }

    private func restart() async throws {
        let old = gateway.withLock(\.self)
        try await old.program.kill9()
        let next = try await Gateway(database: database, simulator: simulator, environment: environment)
        gateway.withLock { $0 = next }
    }

    private func deliver(_ body: [UInt8]) async throws {
        try await eventually(within: .seconds(120), "an answer 200") {
            let answer = try? await Browser(port: self.port).send(
                "POST", "/functions/v1/webhook-revenuecat", body: body, headers: ["Authorization": self.password], timeout: 10)
            if answer?.status != 200 { self.repeated.add(1, ordering: .relaxed) }
            return answer?.status == 200
        }
    }
}
