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
    /// still being encoded then. `isFirst`: the conversation has no earlier messages, with which a fragment would be read when they are known.
    func assess(_ message: String, of userID: UserID, isFirst: Bool, by assessor: MessageAssessor) async -> PendingAssessment {
        let first = assessor.assess(message)
        guard let need = assessor.encodingNeed(first), let permit = admit(need, of: userID) else { return PendingAssessment(first) }
        @Sendable func encode() async -> MessageAssessment {
            await run(permit, first) { assessor.encode(message, first, usesLargeEncoder: $0) }
        }
        switch need {
        case .danger:
            let final = await encode()
            guard !isFirst, let fragment = assessor.fragment(message, final) else { return PendingAssessment(final) }
            return PendingAssessment(fragment, final: final)
        // Ends by itself, also when its request is cancelled.
        case .ordinary: return PendingAssessment(first, Task { await encode() })
        }
    }

    /// `assessment`, or that of a fragment that is harmless after its user's messages in `history`, which is oldest first.
    func assess(
        _ message: String, of userID: UserID, _ assessment: MessageAssessment, after history: [HistoryMessage], by assessor: MessageAssessor
    ) async -> MessageAssessment {
        let earlier = history.filter { $0.role == .user }.map(\.content)
        guard !earlier.isEmpty, assessor.fragment(message, assessment) != nil, let permit = admit(.danger, of: userID) else {
            return assessment
        }
        return await run(permit, assessment) { assessor.assess(message, assessment, after: earlier, usesLargeEncoder: $0) }
    }

    /// Of a pending message. `run` takes it, and must be called.
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

/// The assessment of a message, which the encoder may still raise while the turn begins.
struct PendingAssessment: Sendable {
    /// What a turn begins with: the final assessment, or that of an ordinary message before it is encoded, or of a fragment by itself, whose risk is
    /// never above the final one's.
    let first: MessageAssessment
    private let known: MessageAssessment
    private let encoding: Task<MessageAssessment, Never>?

    init(_ first: MessageAssessment, final: MessageAssessment) { (self.first, known, encoding) = (first, final, nil) }

    init(_ first: MessageAssessment, _ encoding: Task<MessageAssessment, Never>? = nil) {
        (self.first, known, self.encoding) = (first, first, encoding)
    }

    /// That of the message by itself. Waits for the encoders: milliseconds, at most `EncoderQueue.longestWait` and the time of one message.
    var final: MessageAssessment {
        get async { await encoding?.value ?? known }
    }
}

/// Decides which messages the encoder processes. Messages whose danger is undecided are admitted unless many are pending; ordinary ones by
/// a token bucket of processor time, and never so many at once that the former wait for them. Of one user only half as many, because
/// messages come here before `begin_turn` counts them against the rate limit. Pure.
struct EncoderBudget {
    /// Why a message is not encoded.
    enum Rejection: String, Sendable {
        /// Too many are pending, of all users or of the message's.
        case full
        /// The encoder has used its share of the machine for ordinary messages.
        case overBudget = "over_budget"
        /// It waited too long.
        case late
    }

    static let maximumPending = 16
    static let maximumPendingOrdinary = 3
    /// Half of the places: with any number of messages at once a user leaves the others as many.
    static let maximumPendingOfUser = maximumPending / 2
    /// How much longer than the small encoder the large one takes for a message, by the sizes of their layers, rounded up.
    static let largeEncoderFactor = 6
    /// Of the machine's time, the share for ordinary messages; and at most this share of the one processor that encodes.
    static let share = 0.05
    static let maximumShareOfProcessor = 0.5
    /// The time saved up while there are few messages; so much may also be owed.
    static let burst = Duration.milliseconds(500)

    /// Time that accrues per second.
    private let rate: Double
    private var credit = EncoderBudget.burst
    private var updated: ContinuousClock.Instant?
    private var pending = 0
    /// Of the users with pending messages; none is 0.
    private(set) var pendingOfUsers: [UserID: Int] = [:]

    init(processors: Int) { rate = min(EncoderBudget.share * Double(processors), EncoderBudget.maximumShareOfProcessor) }

    /// Counts a message as pending; nil when it may be encoded.
    mutating func admit(_ need: MessageAssessor.EncodingNeed, of userID: UserID, at now: ContinuousClock.Instant) -> Rejection? {
        credit = min(EncoderBudget.burst, credit + (updated.map { $0.duration(to: now) } ?? .zero) * rate)
        updated = now
        let pendingOfUser = pendingOfUsers[userID] ?? 0
        guard pendingOfUser < EncoderBudget.maximumPendingOfUser else { return .full }
        switch need {
        case .danger: guard pending < EncoderBudget.maximumPending else { return .full }
        case .ordinary:
            guard pending < EncoderBudget.maximumPendingOrdinary else { return .full }
            guard credit > .zero else { return .overBudget }
        }
        pending += 1
        pendingOfUsers[userID] = pendingOfUser + 1
        return nil
    }

    /// Whether the large encoder may read a message, too, for which the small one took `time`: not when those behind, if it read each of them as
    /// long, would be late, and an ordinary message only by time that is saved up. By the time, because processors differ tenfold.
    func hasTimeForLargeEncoder(_ need: MessageAssessor.EncodingNeed, after time: Duration) -> Bool {
        let expected = time * EncoderBudget.largeEncoderFactor
        return expected * pending <= EncoderQueue.longestWait && (need == .danger || expected <= credit)
    }

    mutating func finish(_ need: MessageAssessor.EncodingNeed, of userID: UserID, after time: Duration) {
        pending -= 1
        if let count = pendingOfUsers[userID] { pendingOfUsers[userID] = count > 1 ? count - 1 : nil }
        if need == .ordinary { credit = max(.zero - EncoderBudget.burst, credit - time) }
    }
}
