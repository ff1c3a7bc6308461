import CoachCore
import Logging
import NIOPosix
import TokenRelay

extension TurnFinalizer {
    /// Saves the receipts that earlier processes of this instance left on disk. `work` begins when all are in the database, or after `timeout`:
    /// a receipt that always meets a lock or a limit must not keep the instance from starting. The rest is then delivered beside `work`. When
    /// `work` ends, receipts that are still undelivered stay on disk. Throws what `work` throws.
    public func deliverLeftovers(within timeout: Duration = .seconds(10), before work: @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            let (delivered, continuation) = AsyncStream.makeStream(of: Void.self)
            group.addTask {
                await deliverLeftovers()
                continuation.finish()
            }
            _ = await delivered.first(within: timeout)
            try await work()
        }
    }

    private func deliverLeftovers() async {
        let pending: [(handle: ReceiptSpool.Handle, receipt: TurnReceipt)]
        do {
            pending = try await NIOThreadPool.singleton.runIfActive { [spool] in try spool.pending() }
        } catch is CancellationError {
            return
        } catch {
            return logger.critical("the spool cannot be read", metadata: ["error": "\(error)"])
        }
        await withTaskGroup(of: Void.self) { group in
            for (index, (handle, receipt)) in pending.enumerated() {
                if index >= Self.deliveriesAtOnce { await group.next() }
                group.addTask {
                    guard case .written = await save(receipt, requestID: "spool", handle: handle) else { return }
                    logger.notice("a spooled receipt was delivered", metadata: ["turn_id": "\(receipt.identity.turnID)"])
                }
            }
        }
    }

    /// An outage may leave a receipt for each of 2,000 turns, for which the instance waits before it is ready.
    private static let deliveriesAtOnce = 16
}
