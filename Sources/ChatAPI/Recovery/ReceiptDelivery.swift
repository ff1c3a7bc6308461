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
                    try await deliverAll()
                } catch is CancellationError {
                    return
                } catch {
                    finalizer.logger.critical("the spool cannot be read", metadata: ["error": "\(error)"])
                }
                continuation.finish()
            }
            group.addTask { try await repeatDelivery() }
            _ = await delivered.first(within: timeout)
            try await work()
        }
    }

    private func repeatDelivery() async throws {
        let schedule = PeriodicSchedule(every: interval, firstAfter: interval)
        try await withThrowingDiscardingTaskGroup { group in
            try await PeriodicLoop("delivery of receipts", schedule, logger: finalizer.logger).run {
                try await NIOThreadPool.singleton.runIfActive { [adopt] in try adopt() }
                // Not awaited: one that meets a lock keeps no other waiting.
                for (handle, receipt) in try await pending(atMost: Self.deliveriesAtOnce) {
                    group.addTask { await deliver(receipt, handle) }
                }
            }
        }
    }

    private func deliverAll() async throws {
        let pending = try await pending(atMost: .max)
        await withTaskGroup(of: Void.self) { group in
            for (index, (handle, receipt)) in pending.enumerated() {
                if index >= Self.deliveriesAtOnce { await group.next() }
                group.addTask { await deliver(receipt, handle) }
            }
        }
    }

    /// The oldest receipts on disk that nobody saves yet; the caller does.
    private func pending(atMost count: Int) async throws -> ArraySlice<(handle: ReceiptSpool.Handle, receipt: TurnReceipt)> {
        let (spool, known) = (finalizer.spool, finalizer.known)
        let pending = try await NIOThreadPool.singleton.runIfActive { try spool.pending(known.handles) }.prefix(count)
        for (handle, _) in pending { known.insert(handle) }
        return pending
    }

    private func deliver(_ receipt: TurnReceipt, _ handle: ReceiptSpool.Handle) async {
        guard case .written = await finalizer.save(receipt, requestID: "spool", handle: handle) else { return }
        finalizer.logger.notice("a spooled receipt was delivered", metadata: ["turn_id": "\(receipt.identity.turnID)"])
    }

    /// An outage may leave a receipt for each of 2,000 turns, for which the instance waits before it is ready.
    private static let deliveriesAtOnce = 16
}
