import CoachCore

/// Decides which messages the encoders process. Pure.
///
/// Messages whose danger is undecided are admitted unless many are pending. Ordinary messages are limited by a token bucket of processor time, and have
/// few places, so that the former do not wait for them. Messages come here before `begin_turn` counts them against the rate limit, so one user has at
/// most half of the places and, while others write, a share of the time (`EncoderShares`).
struct EncoderBudget {
    /// Why a message is not encoded.
    enum Rejection: String, Sendable {
        /// Too many messages are pending, of all users or of the message's user.
        case full
        /// The encoders have used their share of the machine for ordinary messages, or the user has used theirs.
        case overBudget = "over_budget"
        /// The message waited too long.
        case late
    }

    static let maximumPending = 16
    static let maximumPendingOrdinary = 3
    static let maximumPendingOfUser = maximumPending / 2
    /// How much longer the large encoder takes for a message than the small one, by the sizes of their layers, rounded up.
    static let largeEncoderFactor = 6
    /// The share of the machine's time for ordinary messages.
    static let share = 0.05
    /// The largest share of the one processor that encodes, for ordinary messages.
    static let maximumShareOfProcessor = 0.5
    /// The most time that is saved up while there are few ordinary messages. As much may be overdrawn.
    static let burst = Duration.milliseconds(500)

    /// The time for ordinary messages that accrues per second, in seconds.
    private let rate: Double
    /// The time for ordinary messages that is saved up; negative when it is overdrawn.
    private var credit = EncoderBudget.burst
    private var lastAdmission: ContinuousClock.Instant?
    private var pending = 0
    /// The number of pending messages by user. A user without one has no element.
    private(set) var pendingOfUsers: [UserID: Int] = [:]
    private(set) var shares = EncoderShares()

    init(processors: Int) { rate = min(EncoderBudget.share * Double(processors), EncoderBudget.maximumShareOfProcessor) }

    /// Counts a message as pending; nil when it may be encoded.
    mutating func admit(_ need: MessageAssessor.EncodingNeed, of userID: UserID, at now: ContinuousClock.Instant) -> Rejection? {
        credit = min(EncoderBudget.burst, credit + (lastAdmission.map { $0.duration(to: now) } ?? .zero) * rate)
        lastAdmission = now
        shares.noteWriter(userID, at: now)
        let pendingOfUser = pendingOfUsers[userID] ?? 0
        guard pendingOfUser < EncoderBudget.maximumPendingOfUser else { return .full }
        switch need {
        case .danger:
            guard pending < EncoderBudget.maximumPending else { return .full }
            if let rejection = shares.rejection(of: userID, pending: pendingOfUser, at: now) { return rejection }
        case .ordinary:
            guard pending < EncoderBudget.maximumPendingOrdinary else { return .full }
            guard credit > .zero else { return .overBudget }
        }
        pending += 1
        pendingOfUsers[userID] = pendingOfUser + 1
        return nil
    }

    /// Whether the large encoder may also read a message, for which the small one took `time`. Not when the pending messages would be late if it took as
    /// long for each of them. For an ordinary message only in saved time. Uses the measured time because processors differ tenfold.
    func hasTimeForLargeEncoder(_ need: MessageAssessor.EncodingNeed, after time: Duration) -> Bool {
        let expected = time * EncoderBudget.largeEncoderFactor
        return expected * pending <= EncoderQueue.longestWait && (need == .danger || expected <= credit)
    }

    /// Uncounts a pending message that took `time`.
    mutating func finish(_ need: MessageAssessor.EncodingNeed, of userID: UserID, after time: Duration) {
        pending -= 1
        if let count = pendingOfUsers[userID] { pendingOfUsers[userID] = count > 1 ? count - 1 : nil }
        switch need {
        case .ordinary: credit = max(.zero - EncoderBudget.burst, credit - time)
        // The time of the last admission is exact enough.
        case .danger: if let now = lastAdmission { shares.charge(time, to: userID, at: now) }
        }
    }
}
