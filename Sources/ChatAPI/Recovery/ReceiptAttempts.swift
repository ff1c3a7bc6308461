import CoachCore

/// Counts the failed attempts to save one receipt, and waits between them.
struct ReceiptAttempts {
    /// The number of attempts to save a receipt that the database rejects.
    static let maximumRejections = 5

    /// While the database is unavailable; the last one repeats.
    static let defaultPauses: [Duration] = [.milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1)]

    private let pauses: [Duration]
    private(set) var failures = 0
    /// Failures of which the receipt may be the cause: the database was there.
    private(set) var rejections = 0

    /// - Parameter pauses: after each failure; the last one repeats.
    init(pauses: [Duration]) { self.pauses = pauses }

    /// Counts a failure. Returns whether it is a rejection.
    mutating func failed(_ error: any Error) -> Bool {
        failures += 1
        guard case StoreFault.unexpected? = error as? StoreFault else { return false }
        rejections += 1
        return true
    }

    /// Waits after a failure. Returns at once in a cancelled task.
    func pause() async { try? await Task.sleep(for: pauses[min(failures, pauses.count) - 1]) }
}
