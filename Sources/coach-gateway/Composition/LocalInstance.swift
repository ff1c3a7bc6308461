import BackgroundJobs
import CoachCore
import CoachStore
import Foundation
import Logging
import PostgresClient
import ServiceLifecycle

/// What this process is to the others, and what it leaves on disk.
struct LocalInstance {
    /// Held for the life of the process: no other may be this instance.
    let slot: InstanceSlot
    let instance: GatewayInstance
    let schema: SchemaGate
    /// The version of this release's newest migration.
    let newestMigration: String
    let storage: StorageMonitor
    /// Receipts that wait for the database.
    let receipts: ReceiptSpool
    /// Records of model calls that do.
    let calls: CallSpool
    let startFailures: StartFailures

    /// Throws `InstanceSlot.Failure`, `FileFault` or `MigrationError`.
    init(_ configuration: GatewayConfiguration, database: PostgresClient, logger: Logger) throws {
        slot = try InstanceSlot(in: configuration.stateDirectory)
        instance = GatewayInstance(id: slot.instance, client: database)
        newestMigration = try DatabaseProbe.newestVersion(in: configuration.root.appendingPathComponent("db/migrations"))
        schema = SchemaGate(client: database, needed: newestMigration)
        storage = StorageMonitor()
        receipts = storage.watch(
            try ReceiptSpool.files(in: slot.receipts) { unreadable in
                logger.critical(
                    "a spooled receipt cannot be read: it stays where it is",
                    metadata: ["path": "\(unreadable.path)", "reason": "\(unreadable.reason)"])
            })
        calls = try CallSpool.files(in: slot.calls) { unreadable in
            logger.critical(
                "a spooled record of a model call cannot be read: it stays on disk",
                metadata: ["path": "\(unreadable.path)", "reason": "\(unreadable.reason)"])
        }
        startFailures = StartFailures(database: database, logger: logger)
    }

    /// No turn can begin before the instance is registered, and it is not with a schema that does not fit.
    func registration(_ lifecycle: InstanceLifecycle) -> some Service {
        Background {
            try await schema.admit { startFailures.report($0) }
            try await lifecycle.run()
        }
    }

    /// Notices that another release migrates the database while this one runs.
    func schemaCheck(logger: Logger) -> PeriodicJob {
        PeriodicJob("schema check", PeriodicSchedule(every: .seconds(5), firstAfter: .seconds(5)), logger: logger) {
            switch try await schema.recheck() {
            case .closed(let finding): logger.critical("the schema does not fit this release", metadata: ["finding": "\(finding)"])
            case .opened: logger.notice("the schema fits this release")
            case nil: break
            }
        }
    }
}
