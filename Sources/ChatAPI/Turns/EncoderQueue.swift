import CoachCore
import Dispatch
import Foundation
import Synchronization

/// Assesses messages with the encoders (`MessageEncoder`), which are slower than the first assessment. One message at a time, on a thread of its own, so
/// that no event loop waits. A message that is not encoded keeps its first assessment.
final class EncoderQueue: Sendable {
    /// A message that waited longer is not encoded, because its answer cannot begin before it is.
    static let longestWait = Duration.milliseconds(150)

    private let queue = DispatchQueue(label: "encoder")
    private let budget = Mutex(EncoderBudget(processors: ProcessInfo.processInfo.activeProcessorCount))

    /// Assesses a message. Returns as soon as a turn can begin with `PendingAssessment.first`: an ordinary message is still being encoded then.
    ///
    /// A fragment begins its turn with the grammar's assessment when it will be assessed again (`assessFragment`): with the messages before it, which are
    /// not known yet, or, when it is vague, with the stored level. `isFirst`: the conversation has no earlier messages.
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
        // The task ends by itself, also when its request is cancelled.
        case .ordinary: return PendingAssessment(first, Task { await encode() })
        }
    }

    /// Lowers `assessment` when the message is a fragment that is vague, or harmless after the user's messages in `history`, which is oldest first.
    func assessFragment(
        _ message: String, of userID: UserID, _ assessment: MessageAssessment, after history: [HistoryMessage], by assessor: MessageAssessor
    ) async -> MessageAssessment {
        let earlier = history.filter { $0.role == .user }.map(\.content)
        guard !earlier.isEmpty else { return assessor.reassessWithoutContext(message, assessment) }
        guard assessor.assessmentByGrammar(ofFragment: message, assessment) != nil, let permit = admit(.danger, of: userID) else {
            return assessment
        }
        return await run(permit, assessment) { assessor.reassess(message, assessment, after: earlier, usesLargeEncoder: $0) }
    }

    /// The right to encode a pending message. `run` takes it, and must be called.
    struct Permit: Sendable {
        fileprivate let need: MessageAssessor.EncodingNeed
        fileprivate let userID: UserID
        fileprivate let admittedAt: ContinuousClock.Instant
    }

    /// Counts a message as pending; nil when it is not to be encoded.
    func admit(_ need: MessageAssessor.EncodingNeed, of userID: UserID) -> Permit? {
        let now = ContinuousClock.now
        guard let rejection = budget.withLock({ $0.admit(need, of: userID, at: now) }) else {
            return Permit(need: need, userID: userID, admittedAt: now)
        }
        TurnMetrics.notEncoded(need, rejection)
        return nil
    }

    /// Assesses an admitted message with the encoders, on their thread. Returns `first`, its assessment so far, when the message waited too long.
    ///
    /// A message whose task is cancelled stays pending until the thread reaches it, because only the thread uncounts messages.
    func run(
        _ permit: Permit, _ first: MessageAssessment, _ assess: @escaping @Sendable (_ usesLargeEncoder: () -> Bool) -> MessageAssessment
    ) async -> MessageAssessment {
        let second: MessageAssessment? = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: self.encode(permit, assess)) }
        }
        guard let second else {
            TurnMetrics.notEncoded(permit.need, .late)
            return first
        }
        TurnMetrics.encoded(from: first.risk.tier, to: second.risk.tier, since: permit.admittedAt)
        return second
    }

    /// Runs on the encoders' thread. nil when the message waited too long.
    private func encode(_ permit: Permit, _ assess: (_ usesLargeEncoder: () -> Bool) -> MessageAssessment) -> MessageAssessment? {
        let begin = ContinuousClock.now
        defer { budget.withLock { $0.finish(permit.need, of: permit.userID, after: begin.duration(to: .now)) } }
        guard permit.admittedAt.duration(to: begin) <= Self.longestWait else { return nil }
        return assess {
            let hasTime = budget.withLock { $0.hasTimeForLargeEncoder(permit.need, after: begin.duration(to: .now)) }
            TurnMetrics.largeEncoder(isUsed: hasTime)
            return hasTime
        }
    }
}
