import CoachCore
import Synchronization

/// Whether an answer that ended now could be kept. Watches what database and disk do with the answers that come: asking beforehand would only
/// tell how it was a moment ago. While neither takes them they are tried again and again, so it also notices when that is over.
final class AnswerStorage: Sendable {
    private struct State {
        var databaseRefuses = false
        var diskRefuses = false
    }
    private let state = Mutex(State())

    /// False when the last attempts at both have failed.
    var takesAnswers: Bool { state.withLock { !($0.databaseRefuses && $0.diskRefuses) } }

    func watch(_ repository: TurnRepository) -> TurnRepository {
        TurnRepository(
            begin: repository.begin, repeated: repository.repeated,
            finish: { [self] receipt in
                do {
                    let outcome = try await repository.finish(receipt)
                    state.withLock { $0.databaseRefuses = false }
                    return outcome
                } catch {
                    // A receipt that is refused for what is in it does not affect the next.
                    if case StoreFault.unavailable? = error as? StoreFault { state.withLock { $0.databaseRefuses = true } }
                    throw error
                }
            })
    }

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
