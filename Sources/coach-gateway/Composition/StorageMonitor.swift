import CoachCore
import Synchronization

/// Knows whether answers can be saved, by the result of the last attempt at the database and on disk. Attempts go on while both fail, so it also
/// notices the recovery.
final class StorageMonitor: Sendable {
    private struct State {
        var databaseFails = false
        var diskFails = false
    }
    private let state = Mutex(State())

    /// False when the last attempts at both database and disk have failed.
    var takesAnswers: Bool { state.withLock { !($0.databaseFails && $0.diskFails) } }

    /// The same repository, whose results are observed.
    func watch(_ repository: TurnRepository) -> TurnRepository {
        var watched = repository
        watched.finish = { [self] receipt in
            do {
                let outcome = try await repository.finish(receipt)
                state.withLock { $0.databaseFails = false }
                return outcome
            } catch {
                // A receipt that is rejected for its content does not affect the next.
                if case StoreFault.unavailable? = error as? StoreFault { state.withLock { $0.databaseFails = true } }
                throw error
            }
        }
        return watched
    }

    /// The same spool, whose results are observed.
    func watch(_ spool: ReceiptSpool) -> ReceiptSpool {
        ReceiptSpool(
            keep: { [self] receipt in
                do {
                    let handle = try spool.keep(receipt)
                    state.withLock { $0.diskFails = false }
                    return handle
                } catch {
                    state.withLock { $0.diskFails = true }
                    throw error
                }
            }, discard: spool.discard, pending: spool.pending)
    }
}
