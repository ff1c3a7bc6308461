import TestSupport
import Testing

@Suite struct DatabaseConnectionsTests {
    @Test("COACH_DATABASE_CONNECTIONS is the number of shared connections, besides the one for LISTEN")
    func count() async throws {
        let stage = try await Stage.shared()
        let database = try await Database(.init())
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: stage.simulator.url, environment: ["COACH_DATABASE_CONNECTIONS": "6"])
        let sessions = """
            select count(*) as count from pg_stat_activity where datname = current_database() and application_name = 'coach-gateway'
            """
        try await eventually("seven connections") { try await database.row(sessions).number("count") == 7 }
        // Requests open no further connections.
        let testUser = gateway.testUser()
        for _ in 1...3 { _ = try await testUser.say("Hello " + sim(["words": 3])) }
        #expect(try await database.row(sessions).number("count") == 7)
    }
}
