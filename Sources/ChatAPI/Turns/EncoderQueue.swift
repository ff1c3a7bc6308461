import CoachCore
import Dispatch
import Foundation
import Synchronization

/// Assesses messages with the encoders (`MessageEncoder`), transformers that are slower than the first assessment. One message
/// at a time, on a thread of its own, so that no event loop waits. A message that is not encoded keeps its first assessment.
final class EncoderQueue: Sendable {
    /// A message that waited longer is not encoded, because its answer cannot begin before it is.
    static let longestWait = Duration.milliseconds(150)

    private let queue = DispatchQueue(label: "encoder")
    private let budget = Mutex(EncoderBudget(processors: ProcessInfo.processInfo.activeProcessorCount))

    /// Assesses a message. Returns when its danger is decided as far as the database has to know it to begin a turn: an ordinary message is
    /// still being encoded then. `isFirst`: the conversation has no earlier messages, with which a fragment would be read when they are known. A vague
    /// fragment is decided on when the stored level is known.
    func assess(_ message: String, of userID: UserID, isFirst: Bool, by assessor: MessageAssessor) async -> PendingAssessment {
        let first = assessor.assess(message)
        guard let need = assessor.encodingNeed(first), let permit = admit(need, of: userID) else { return PendingAssessment(first) }
        @Sendable func encode() async -> MessageAssessment {
            await run(permit, first) { assessor.encode(message, first, usesLargeEncoder: $0) }
        }
        switch need {
        case .danger:
            let final = await encode()
            guard let fragment = assessor.assessmentByGrammar(ofFragment: message, final), !isFirst || assessor.isVague(message) else {
                return PendingAssessment(final)
            }
            return PendingAssessment(fragment, final: final)
        // Ends by itself, also when its request is cancelled.
        case .ordinary: return PendingAssessment(first, Task { await encode() })
        }
    }

    /// `assessment`, or a lower one of a fragment that is vague, or harmless after its user's messages in `history`, which is oldest first.
    func assess(
        _ message: String, of userID: UserID, _ assessment: MessageAssessment, after history: [HistoryMessage], by assessor: MessageAssessor
    ) async -> MessageAssessment {
        let earlier = history.filter { $0.role == .user }.map(\.content)
        guard !earlier.isEmpty else { return assessor.reassessWithoutContext(message, assessment) }
        guard assessor.assessmentByGrammar(ofFragment: message, assessment) != nil, let permit = admit(.danger, of: userID) else { return assessment }
        return await run(permit, assessment) { assessor.reassess(message, assessment, after: earlier, usesLargeEncoder: $0) }
    }

    /// The right to encode a pending message. `run` takes it, and must be called.
    struct Permit: Sendable {
        fileprivate let need: MessageAssessor.EncodingNeed
        fileprivate let userID: UserID
        fileprivate let since: ContinuousClock.Instant
    }

    /// Counts a message as pending; nil when it is not to be encoded.
    func admit(_ need: MessageAssessor.EncodingNeed, of userID: UserID) -> Permit? {
        let now = ContinuousClock.now
        guard let rejection = budget.withLock({ $0.admit(need, of: userID, at: now) }) else {
            return Permit(need: need, userID: userID, since: now)
        }
        TurnMetrics.notEncoded(need, rejection)
        return nil
    }

    /// Assesses an admitted message with the encoders. `first`, its assessment so far, when it waited too long. A message whose task is cancelled
    /// stays pending until the thread comes to it, as any other: it is uncounted there and nowhere else, so that the counts stay exact.
    func run(
        _ permit: Permit, _ first: MessageAssessment, _ assess: @escaping @Sendable (_ usesLargeEncoder: () -> Bool) -> MessageAssessment
    ) async -> MessageAssessment {
        let (need, userID, start) = (permit.need, permit.userID, permit.since)
        let second: MessageAssessment? = await withCheckedContinuation { continuation in
            queue.async {
                let begin = ContinuousClock.now
                let isLate = start.duration(to: begin) > EncoderQueue.longestWait
                let assessment =
                    isLate
                    ? nil
                    : assess {
                        let hasTime = self.budget.withLock { $0.hasTimeForLargeEncoder(need, after: begin.duration(to: .now)) }
                        TurnMetrics.largeEncoder(isUsed: hasTime)
                        return hasTime
                    }
                self.budget.withLock { $0.finish(need, of: userID, after: begin.duration(to: .now)) }
                continuation.resume(returning: assessment)
            }
        }
        guard let second else {
            TurnMetrics.notEncoded(need, .late)
            return first
        }
        TurnMetrics.encoded(from: first.risk.tier, to: second.risk.tier, since: start)
        return second
    }
}
