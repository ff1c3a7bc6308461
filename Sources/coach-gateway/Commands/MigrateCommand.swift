import ArgumentParser
import CoachStore
import Foundation
import PostgresClient

/// `migrate`: brings the database to the state of `db/migrations`. Idempotent; two starters do not disturb each other.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "migrate", abstract: "Apply the migrations that the database lacks.")

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.load()
        let folder = configuration.root.appendingPathComponent("db/migrations")
        // Instances may run this before `serve` with the gateway's role alone, when the owner has migrated before.
        let applied = try await CommandDatabase.asOwner("migrate", configuration, unlessDone: true) { client in
            let applied = try await Migrator(client: client, directory: folder).migrate()
            if let password = configuration.databasePassword { try await Self.setPassword(password, client) }
            return applied
        }
        for file in applied { Console.writeLine("applied \(file.fileName)") }
        if applied.isEmpty { Console.writeLine("the database is up to date") }
    }

    /// The server never sees the password. ALTER ROLE takes no parameters; a verifier has no character that needs quoting.
    private static func setPassword(_ password: String, _ client: PostgresClient) async throws {
        let verifier = try ScramVerifier.make(password: password, user: "coach_gateway")
        try await client.withConnection { try await $0.execute(script: "alter role coach_gateway login password '\(verifier)'") }
    }
}
