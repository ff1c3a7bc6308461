import CoachCore
import Synchronization

/// Knows whether answers can be saved, by the result of the last attempt at the database and on disk. Attempts go on while both fail, so it also
/// notices the recovery.
final class StorageMonitor: Sendable {
    private struct State {
        var databaseRefuses = false
        var diskRefuses = false
    }
    private let state = Mutex(State())

    /// False when the last attempts at both database and disk have failed.
    var takesAnswers: Bool { state.withLock { !($0.databaseRefuses && $0.diskRefuses) } }

    /// The same repository, whose results are observed.
    func watch(_ repository: TurnRepository) -> TurnRepository {
        var watched = repository
        watched.finish = { [self] receipt in
            do {
                let outcome = try await repository.finish(receipt)
                state.withLock { $0.databaseRefuses = false }
                return outcome
            } catch {
                // A receipt that is refused for its content does not affect the next.
                if case StoreFault.unavailable? = error as? StoreFault { state.withLock { $0.databaseRefuses = true } }
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
                    state.withLock { $0.diskRefuses = false }
                    return handle
                } catch {
                    state.withLock { $0.diskRefuses = true }
                    throw error
                }
            }, discard: spool.discard, pending: spool.pending)
    }
}
