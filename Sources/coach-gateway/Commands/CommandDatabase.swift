import ArgumentParser
import CoachStore
import Foundation
import PostgresClient
import Reactor

/// A database client for one command.
enum CommandDatabase {
    /// Does a command's work with the rights of the schema's owner. When it cannot, says why and which setting is wrong, and throws `ExitCode.failure`.
    /// - Parameter unlessDone: whether another role may find that there is nothing to do.
    static func asOwner<Value>(
        _ command: String, _ configuration: GatewayConfiguration, unlessDone: Bool = false,
        _ body: (PostgresClient) async throws -> Value
    ) async throws -> Value {
        let url = try configuration.ownerURL()
        let key: SettingKey = url == configuration.databaseURL ? .databaseURL : .migrationURL
        do {
            return try await with(url) { client in
                let isRestricted = try await DatabaseProbe(client: client).isRestricted()
                // From another role row-level security would keep the rows of users, without an error.
                if isRestricted, !unlessDone { throw NotOwner(key: key) }
                do {
                    return try await body(client)
                } catch {
                    if isRestricted { throw NotOwner(key: key) }
                    throw error
                }
            }
        } catch let error as PostgresError where error.connectionFailure != nil {
            Console.error("\(command): \(key.name): \(DatabaseFinding.text(error))")
        } catch {
            Console.error("\(command): \(error)")
        }
        throw ExitCode.failure
    }

    private struct NotOwner: Error, CustomStringConvertible {
        let key: SettingKey

        var description: String {
            "\(key.name): its role does not own the schema: set \(SettingKey.migrationURL.name) to a connection of the owner"
        }
    }

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
