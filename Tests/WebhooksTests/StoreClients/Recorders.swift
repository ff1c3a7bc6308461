import CoachCore
import Synchronization

/// An inbox that records the deliveries.
final class InboxRecorder: Sendable {
    private let state = Mutex<(deliveries: [BillingDelivery], expiring: [UserID], windows: [Duration])>(([], [], []))

    var deliveries: [BillingDelivery] { state.withLock(\.deliveries) }

    /// The result of `BillingInbox.expiring`.
    var expiring: [UserID] {
        get { state.withLock(\.expiring) }
        set { state.withLock { $0.expiring = newValue } }
    }

    /// The times within which access had to end, a call of `BillingInbox.expiring` each.
    var expiryWindows: [Duration] { state.withLock(\.windows) }

    var inbox: BillingInbox {
        BillingInbox(
            store: { delivery in
                self.state.withLock { $0.deliveries.append(delivery) }
                return .stored
            },
            subscription: { _ in .none },
            expiring: { within, cursor, limit in
                self.state.withLock { $0.windows.append(within) }
                let end = (cursor.flatMap { Int($0) } ?? 0) + limit
                let users = self.expiring
                return Page(items: Array(users.prefix(end).dropFirst(end - limit)), nextCursor: end < users.count ? "\(end)" : nil)
            })
    }
}

/// A queue that records the jobs.
final class JobRecorder: Sendable {
    private let state = Mutex<[NewJob]>([])

    var jobs: [NewJob] { state.withLock(\.self) }

    var queue: JobQueue {
        JobQueue(
            enqueue: { job in
                self.state.withLock { $0.append(job) }
                return nil
            },
            exchange: { _, _, _ in [] }, renew: { _, _ in [] }, figures: { [] })
    }
}
