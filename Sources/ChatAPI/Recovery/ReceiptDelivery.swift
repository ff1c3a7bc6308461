import BackgroundJobs
import CoachCore
import Logging
import NIOPosix
import TokenRelay

/// Saves the receipts on disk: those of earlier processes of this instance, those of other processes on this machine that have ended, and those that this
/// one left there because it ends.
public struct ReceiptDelivery: Sendable {
    let finalizer: TurnFinalizer
    let adopt: @Sendable () throws -> Void
    let interval: Duration

    /// - Parameters:
    ///   - adopt: moves here what processes that have ended left on this machine. Blocks.
    ///   - interval: between two looks at the disk.
    public init(finalizer: TurnFinalizer, interval: Duration = .seconds(1), adopt: @escaping @Sendable () throws -> Void) {
        self.finalizer = finalizer
        self.adopt = adopt
        self.interval = interval
    }

    /// `work` begins when all that is on disk is in the database, or after `timeout`: a receipt that always meets a lock or a limit must not keep the
    /// instance from starting. The rest, and what comes later, is delivered beside `work`. When `work` ends, receipts that are still undelivered stay on
    /// disk. Throws what `work` throws.
    public func run(within timeout: Duration = .seconds(10), before work: @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            let (delivered, continuation) = AsyncStream.makeStream(of: Void.self)
            group.addTask {
                do {
                    try await deliver()
                } catch is CancellationError {
                    return
                } catch {
                    finalizer.logger.critical("the spool cannot be read", metadata: ["error": "\(error)"])
                }
                continuation.finish()
                try await repeatDelivery()
            }
            _ = await delivered.first(within: timeout)
            try await work()
        }
    }

    private func repeatDelivery() async throws {
        let schedule = PeriodicSchedule(every: interval, firstAfter: interval)
        try await PeriodicLoop("delivery of receipts", schedule, logger: finalizer.logger).run {
            try await NIOThreadPool.singleton.runIfActive { [adopt] in try adopt() }
            try await deliver()
        }
    }

    private func deliver() async throws {
        let pending = try await NIOThreadPool.singleton.runIfActive { [finalizer] in try finalizer.spool.pending(finalizer.known.handles) }
        await withTaskGroup(of: Void.self) { group in
            for (index, (handle, receipt)) in pending.enumerated() {
                if index >= Self.deliveriesAtOnce { await group.next() }
                group.addTask {
                    guard case .written = await finalizer.save(receipt, requestID: "spool", handle: handle) else { return }
                    finalizer.logger.notice("a spooled receipt was delivered", metadata: ["turn_id": "\(receipt.identity.turnID)"])
                }
            }
        }
    }

    /// An outage may leave a receipt for each of 2,000 turns, for which the instance waits before it is ready.
    private static let deliveriesAtOnce = 16
}
