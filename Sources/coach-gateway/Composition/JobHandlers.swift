import BackgroundJobs
import CoachCore
import CoachStore
import Logging

/// The kinds of jobs that an instance runs.
struct JobHandlers {
    let housekeeping: Housekeeping
    let removal: UserRemoval
    let logger: Logger

    var all: [JobHandler] { [deleteUser, purgeDeletedContent] }

    private var deleteUser: JobHandler {
        JobHandler(.deleteUser, concurrency: 4, payload: \.userID) { [removal] userID in
            while true {
                switch try await removal.removePart(of: userID) {
                case .removed: return
                case .removing: try Task.checkCancellation()
                // A stopped turn is saved within a fraction of a second, if its instance lives.
                case .stopping: try await Task.sleep(for: .milliseconds(250))
                }
            }
        }
    }

    private var purgeDeletedContent: JobHandler {
        JobHandler(.purgeDeletedContent, concurrency: 1, payload: { $0 }) { [housekeeping, logger] _ in
            let purged = try await housekeeping.purge()
            if purged > 0 { logger.notice("content of deleted conversations was removed", metadata: ["conversations": "\(purged)"]) }
        }
    }
}
