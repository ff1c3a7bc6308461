import CoachCore

/// Saves the receipts of summaries. The provider bills their calls, so a receipt is not given up while the database is unavailable.
struct SummaryDelivery: Sendable {
    /// `SummaryRepository.finish`.
    private let save: @Sendable (UserID, SummaryReceipt) async throws -> Bool
    /// Between two attempts; the last one repeats.
    private let pauses: [Duration]

    init(
        pauses: [Duration] = ReceiptAttempts.defaultPauses,
        save: @escaping @Sendable (UserID, SummaryReceipt) async throws -> Bool
    ) {
        self.save = save
        self.pauses = pauses
    }

    /// Returns what `SummaryRepository.finish` returns. A job that is cancelled, because its lease was lost in an outage or its instance ends, tries
    /// once more; a receipt that is not saved then is billed by the estimate of `SummaryRepository.estimate`. Throws what the last attempt threw.
    func finish(_ userID: UserID, _ receipt: SummaryReceipt) async throws -> Bool {
        var attempts = ReceiptAttempts(pauses: pauses)
        while true {
            let isLast = Task.isCancelled
            do {
                // A task of its own, which is not cancelled with the job. It ends with the statement's timeout.
                return try await Task { try await save(userID, receipt) }.value
            } catch {
                _ = attempts.failed(error)
                if isLast || attempts.rejections == ReceiptAttempts.maximumRejections { throw error }
            }
            await attempts.pause()
        }
    }
}
