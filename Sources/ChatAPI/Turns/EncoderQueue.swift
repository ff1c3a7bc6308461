import CoachCore
import Dispatch
import Synchronization

/// Runs the encoder for messages whose first assessment leaves danger open, one at a time, so that no event loop waits for it.
final class EncoderQueue: Sendable {
    /// Messages that are encoded or wait; with one more the newest keeps its first assessment.
    private static let maximumPending = 6
    /// A message that waited longer keeps its first assessment: the turn has not begun yet.
    private static let longestWait = Duration.milliseconds(150)

    private let queue = DispatchQueue(label: "encoder")
    private let pending = Atomic<Int>(0)

    func assess(_ message: String, by assessor: MessageAssessor) async -> MessageAssessment {
        let first = assessor.assess(message)
        guard assessor.needsEncoder(first) else { return first }
        defer { pending.subtract(1, ordering: .relaxed) }
        guard pending.add(1, ordering: .relaxed).newValue <= EncoderQueue.maximumPending else {
            TurnMetrics.skippedEncoding()
            return first
        }
        let start = ContinuousClock.now
        let second: MessageAssessment? = await withCheckedContinuation { continuation in
            queue.async {
                let isLate = start.duration(to: .now) > EncoderQueue.longestWait
                continuation.resume(returning: isLate ? nil : assessor.encode(message, first))
            }
        }
        guard let second else {
            TurnMetrics.skippedEncoding()
            return first
        }
        TurnMetrics.encoded(from: first.risk.tier, to: second.risk.tier, since: start)
        return second
    }
}
