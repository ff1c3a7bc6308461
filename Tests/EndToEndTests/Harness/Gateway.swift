import Foundation
import TestSupport
import Testing

/// A gateway process.
final class Gateway: Sendable {
    let program: Program
    let port: Int

    /// Starts one and waits until it is ready, or only until it listens.
    init(database: String, simulator: String?, environment: [String: String] = [:], untilReady: Bool = true) async throws {
        program = try Program(
            ["serve"], environment: Self.environment(database: database, simulator: simulator).merging(environment) { $1 })
        port = try await program.port()
        if untilReady { try await waitUntilReady() }
    }

    /// The environment that `serve` needs.
    static func environment(database: String, simulator: String?) -> [String: String] {
        var environment = [
            "COACH_ENV": "development", "COACH_PORT": "0", "COACH_METRICS_LISTEN": "off", "COACH_JWT_SECRET": Token.secret,
            "DATABASE_URL": database,
        ]
        environment["COACH_SIMULATOR_URL"] = simulator
        return environment
    }

    func waitUntilReady(within seconds: Double = 30) async throws {
        try await eventually(within: .seconds(seconds), "readiness\n\(program.output)") { try await self.readiness() == 200 }
    }

    /// The status of `/readyz`.
    func readiness() async throws -> Int { try await Browser(port: port).send("GET", "/readyz").status }
    /// The status of `/healthz`.
    func health() async throws -> Int { try await Browser(port: port).send("GET", "/healthz").status }

    /// A new user.
    func testUser() -> TestUser { TestUser(gateway: self) }

    /// The port of `/metrics`, which is in the log of a gateway with COACH_METRICS_LISTEN.
    func metricsPort() async throws -> Int {
        try await eventually("the metrics port") { log.contains { $0["message"] == "metrics available" } }
        return try #require(log.first { $0["message"] == "metrics available" }?.number("port"))
    }

    /// The log: one JSON object for each line.
    var log: [JSONObject] { program.lines.map { JSONObject($0) } }
}

/// One user of a gateway.
struct TestUser: Sendable {
    let id: String
    let browser: Browser

    /// A new user, or a given one, who may also use another gateway.
    init(gateway: Gateway, id: String = UUID().uuidString.lowercased()) {
        self.id = id
        browser = Browser(port: gateway.port, token: Token(user: id).text)
    }

    /// Sends a message and reads the answer to its end.
    func chat(
        _ message: String, _ more: [String: Any] = [:], headers: [String: String] = [:], timeout: Int = 30
    ) async throws -> Answer {
        try await browser.send("POST", Browser.chatPath, body: Self.body(message, more), headers: headers, timeout: timeout)
    }

    static func body(_ message: String, _ more: [String: Any] = [:]) throws -> [UInt8] {
        let object = more.merging(["message": message]) { $1 }
        return Array(try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes]))
    }

    /// The bytes of a complete request, to be sent over a `Wire`.
    func request(_ message: String, _ more: [String: Any] = [:], headers: [String: String] = [:]) throws -> [UInt8] {
        let body = try Self.body(message, more)
        return browser.head("POST", Browser.chatPath, bodyCount: body.count, headers: headers) + body
    }
}
