import BackgroundJobs
import CoachCore
import Logging
import NIOPosix

/// A background loop that moves the records of model calls from the spool on disk to the ledger in the database, also those of an earlier
/// process.
public struct CallDelivery: Sendable {
    let records: CallRecordStore
    let interval: Duration

    /// - Parameter interval: between two looks at the disk.
    public init(records: CallRecordStore, interval: Duration = .seconds(1)) {
        self.records = records
        self.interval = interval
    }

    /// Runs until cancelled.
    public func run() async throws {
        // Those that the database rejects stay on disk, and are tried again by the next process. Kept here, too, in case the disk does not let
        // them be renamed.
        var rejected: Set<CallSpool.Handle> = []
        try await PeriodicLoop("delivery of recorded calls", PeriodicSchedule(every: interval), logger: records.logger).run {
            try await deliver(&rejected)
        }
    }

    /// So many records in a row that cannot be delivered mean that the database is away; fewer may be locked.
    private static let maximumFailures = 3

    /// Throws when the database was unavailable for a record, after it has tried the others, or when the disk cannot be read.
    func deliver(_ rejected: inout Set<CallSpool.Handle>) async throws {
        let (ledger, spool, logger) = (records.ledger, records.spool, records.logger)
        var failure: (any Error)?
        var failuresInARow = 0
        for (handle, call) in try await NIOThreadPool.singleton.runIfActive({ try spool.pending() }) where !rejected.contains(handle) {
            do {
                let isKnown = try await ledger.record(call)
                failuresInARow = 0
                await NIOThreadPool.singleton.runToEnd { spool.discard(handle) }
                logger.notice(
                    isKnown ? "a spooled record of a model call was delivered" : "a spooled record of a removed turn was dropped",
                    metadata: ["turn_id": "\(call.turnID)", "call": .stringConvertible(call.number)])
            } catch StoreFault.unexpected(let reason) {
                failuresInARow = 0
                rejected.insert(handle)
                await NIOThreadPool.singleton.runToEnd { spool.reject(handle) }
                logger.critical(
                    "a record of a model call is rejected by the database: it stays on disk",
                    metadata: ["turn_id": "\(call.turnID)", "call": .stringConvertible(call.number), "error": "\(reason)"])
            } catch {
                failure = error
                failuresInARow += 1
                if failuresInARow == Self.maximumFailures { throw error }
            }
        }
        if let failure { throw failure }
    }
}
