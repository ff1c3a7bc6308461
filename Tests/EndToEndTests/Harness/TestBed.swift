import TestSupport

/// The database, simulator and gateway that most suites share, made when a test first uses them. Each test uses new users.
final class TestBed: Sendable {
    let database: Database
    let simulator: Simulator
    let gateway: Gateway

    static func shared() async throws -> TestBed { try await task.value }
    private static let task = Task { try await TestBed() }

    private init() async throws {
        async let simulator = Simulator()
        database = try await Database.ofItsOwn()
        self.simulator = try await simulator
        gateway = try await Gateway(database: database.gatewayURL, simulator: self.simulator.url)
    }

    /// Another gateway on the same database and simulator.
    func anotherGateway(_ environment: [String: String] = [:]) async throws -> Gateway {
        try await Gateway(database: database.gatewayURL, simulator: simulator.url, environment: environment)
    }

    /// A new user.
    func testUser() -> TestUser { gateway.testUser() }
}
