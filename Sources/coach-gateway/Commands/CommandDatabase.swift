import Foundation
import PostgresClient
import Reactor

/// A database client for one command, mostly with the rights of the schema's owner.
enum CommandDatabase {
    /// - Parameter statements: by default prepared, so `COACH_MIGRATION_URL` must not lead through a transaction pooler.
    static func with<Value>(
        _ url: String, statements: StatementNaming = .prepared, _ body: (PostgresClient) async throws -> Value
    ) async throws -> Value {
        let reactor = try Reactor(name: "reactor")
        reactor.start()
        defer { reactor.stop() }
        var configuration = PostgresConfiguration(url)
        configuration.applicationName = "coach-gateway owner"
        configuration.sharedConnections = 1
        configuration.statements = statements.mode
        // A database that was started a moment ago is waited for; statements may take as long as a migration takes.
        configuration.statementTimeout = .seconds(60)
        configuration.defaultDeadline = .seconds(10)
        let client = PostgresClient(configuration, reactor: reactor)
        client.start()
        do {
            let value = try await body(client)
            await client.shutdown()
            return value
        } catch {
            await client.shutdown()
            throw error
        }
    }
}
