import Foundation
import Glibc
import TestSupport

/// Two gateways on one database.
final class Pair: Sendable {
    let database: Database
    let simulator: Simulator
    let one: Gateway
    let other: Gateway

    /// The shared pair, for tests that do not stop it.
    static func shared() async throws -> Pair { try await task.value }
    private static let task = Task {
        let testBed = try await TestBed.shared()
        return try await Pair(testBed.database, testBed.simulator)
    }

    /// A new pair on the shared database, which a test may drain.
    static func another(_ environment: [String: String]) async throws -> Pair {
        let testBed = try await TestBed.shared()
        return try await Pair(testBed.database, testBed.simulator, environment)
    }

    /// A new pair on a new database, which a test may kill, too.
    static func fresh(_ environment: [String: String] = [:]) async throws -> Pair {
        let simulator = try await TestBed.shared().simulator
        return try await Pair(try await .ofItsOwn(), simulator, environment)
    }

    init(_ database: Database, _ simulator: Simulator, _ environment: [String: String] = [:]) async throws {
        (self.database, self.simulator) = (database, simulator)
        async let one = Gateway(database: database.gatewayURL, simulator: simulator.url, environment: try StateFolder().state(environment))
        async let other = Gateway(
            database: database.gatewayURL, simulator: simulator.url, environment: try StateFolder().state(environment))
        (self.one, self.other) = try await (one, other)
    }
}

/// A folder for one test, removed after the tests.
struct StateFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "coach-faults-" + UUID().uuidString.lowercased()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        ProcessCleanup.runAtEnd("rm -rf '\(path)'")
    }

    /// The environment of a gateway that keeps its state here.
    func state(_ environment: [String: String] = [:]) -> [String: String] { environment.merging(["COACH_STATE_DIR": path]) { $1 } }

    /// The files below it, by path.
    var files: [String] { FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? [] }
}

extension Database {
    /// The only answer of a user, when the turn has ended.
    func settledAnswer(of user: String, within seconds: Double = 15) async throws -> (turn: JSONObject, content: String) {
        try await eventually(within: .seconds(seconds), "the end of the turn of \(user)") {
            try await turn(of: user)["status"] != "running"
        }
        return (try await turn(of: user), try await messages(of: user, role: "assistant").first?["content"] ?? "")
    }

    /// Checks that budgets and ledger agree and nothing is reserved. `user`: only of this one, where others have turns that run.
    func isBalanced(of user: String? = nil) async throws -> Bool {
        let ofUser = user.map { "where user_id = '\($0)'" } ?? ""
        let ofAccount = user.map { "where account_id = (select account_id from users where id = '\($0)')" } ?? ""
        let sums = try await row(
            """
            select coalesce((select sum(spent_usd) from budgets \(ofUser)), 0)
                    = coalesce((select sum(cost_usd) from usage_logs \(ofAccount)), 0)
                and coalesce((select sum(reserved_usd + reserved_tokens) from budgets \(ofUser)), 0) = 0 as balanced
            """)
        return sums.flag("balanced") ?? false
    }
}

/// Text with characters of one to four bytes, and clusters of many.
let wideText = "Naïve — “yes” 日本 🌱 👩‍👩‍👧 é̄ שלום, go on."
