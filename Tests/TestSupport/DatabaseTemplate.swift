import Foundation

/// A database that is prepared once per process, and then copied: a copy takes a fifth of the time of the migrations.
public struct DatabaseTemplate: Sendable {
    private let prepared: Task<FreshDatabase, any Error>

    /// - Parameter prepare: for example migrates the database; closes its connections.
    public init(_ prepare: @escaping @Sendable (FreshDatabase) async throws -> Void) {
        prepared = Task {
            let server = try await FreshDatabase.sharedServer()
            let database = try await FreshDatabase(at: server)
            // It lives as long as the process.
            let drop = "drop database if exists \(database.name) with (force)"
            _ = try ThrowawayCluster.runAfterExit("psql -X -q -d '\(server)' -c '\(drop)' >/dev/null 2>&1")
            try await prepare(database)
            return database
        }
    }

    /// A database like the prepared one, on the same server.
    public func copy() async throws -> FreshDatabase {
        try await FreshDatabase(at: FreshDatabase.sharedServer(), template: prepared.value.name)
    }
}
