import CoachCore
import Synchronization

/// The receipts on disk that this process is saving, or that the database has rejected: `ReceiptDelivery` need not read them.
final class KnownReceipts: Sendable {
    private let state = Mutex<Set<ReceiptSpool.Handle>>([])

    var handles: Set<ReceiptSpool.Handle> { state.withLock { $0 } }

    func insert(_ handle: ReceiptSpool.Handle) { state.withLock { _ = $0.insert(handle) } }

    func remove(_ handle: ReceiptSpool.Handle) { state.withLock { _ = $0.remove(handle) } }
}
