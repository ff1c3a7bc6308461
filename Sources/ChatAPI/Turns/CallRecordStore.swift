import CoachCore
import Logging
import NIOPosix
import Synchronization
import TokenRelay

/// Records model calls durably before their requests leave: in the ledger, or in a spool on disk when the database does not confirm it in
/// time.
public struct CallRecordStore: Sendable {
    let ledger: CallLedger
    let spool: CallSpool
    let logger: Logger
    /// For the ledger, then for the disk.
    let timeouts: (ledger: Duration, disk: Duration)

    public init(
        ledger: CallLedger, spool: CallSpool, logger: Logger,
        timeouts: (ledger: Duration, disk: Duration) = (CallLedger.timeout, CallLedger.diskTimeout)
    ) {
        self.ledger = ledger
        self.spool = spool
        self.logger = logger
        self.timeouts = timeouts
    }

    /// Whether the call is recorded. Takes as long as the timeouts allow.
    /// - Parameter requestID: of the request whose turn calls the model; nil outside of one.
    func record(_ call: PendingCall, requestID: String?) async -> Bool {
        let reason: any Error
        switch await recordInTime(call) {
        case .success(let isKnown): return isKnown
        case .failure(let error): reason = error
        }
        do {
            try await keepInTime(call)
            logger.warning("a model call is recorded on disk, not in the ledger yet", metadata: Self.naming(call, requestID, reason))
            return true
        } catch {
            logger.critical("a model call is not made, because it could not be recorded", metadata: Self.naming(call, requestID, error))
            return false
        }
    }

    private func recordInTime(_ call: PendingCall) async -> Result<Bool, any Error> {
        await withTaskGroup(of: Result<Bool, any Error>.self) { group in
            group.addTask { [ledger] in
                do { return .success(try await ledger.record(call)) } catch { return .failure(error) }
            }
            group.addTask { [timeouts] in
                try? await Task.sleep(for: timeouts.ledger)
                return .failure(StoreFault.unavailable(retryAfter: 1, reason: "no answer within \(timeouts.ledger)"))
            }
            defer { group.cancelAll() }
            return await group.next() ?? .failure(CancellationError())
        }
    }

    /// Throws when the disk fails or hangs. What has not begun by then is not written; what ends later is removed.
    private func keepInTime(_ call: PendingCall) async throws {
        let (results, continuation) = AsyncStream.makeStream(of: Result<CallSpool.Handle, any Error>.self)
        let abandoned = AbandonedFlag()
        // fsync blocks, and tasks run on event loops.
        NIOThreadPool.singleton.submit { [spool] _ in
            if abandoned.isSet.load(ordering: .relaxed) { return }
            let result = Result { try spool.keep(call) }
            if case .terminated = continuation.yield(result), case .success(let handle) = result { spool.discard(handle) }
        }
        guard let result = await results.first(within: timeouts.disk) else {
            abandoned.isSet.store(true, ordering: .relaxed)
            throw DiskTimeout()
        }
        _ = try result.get()
    }

    /// The disk did not take the record in time.
    private struct DiskTimeout: Error {}

    /// Set when the caller no longer waits for a write, which is then not begun. The pool's queue has no limit: behind a slow disk, abandoned
    /// writes would delay those of receipts.
    private final class AbandonedFlag: Sendable {
        let isSet = Atomic(false)
    }

    private static func naming(_ call: PendingCall, _ requestID: String?, _ error: any Error) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["turn_id": "\(call.turnID)", "call": .stringConvertible(call.number), "error": "\(error)"]
        if let requestID { metadata["request_id"] = "\(requestID)" }
        return metadata
    }
}
