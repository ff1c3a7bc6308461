import CoachCore

/// Decides which messages the encoder processes. Pure.
///
/// - A message whose danger is undecided is admitted unless many are pending.
/// - An ordinary message is admitted by a token bucket of processor time, and only while few messages are pending: undecided ones do not wait for it.
/// - One user has at most half of the places, because messages come here before `begin_turn` counts them against the rate limit.
/// - While others write, the undecided messages of one user have a token bucket of their own, too.
struct EncoderBudget {
    /// Why a message is not encoded.
    enum Rejection: String, Sendable {
        /// Too many are pending, of all users or of the message's.
        case full
        /// The encoder has used its share of the machine for ordinary messages, or its time for the user's.
        case overBudget = "over_budget"
        /// It waited too long.
        case late
    }

    static let maximumPending = 16
    static let maximumPendingOrdinary = 3
    /// Half of the places: with any number of messages at once a user leaves the others as many.
    static let maximumPendingOfUser = maximumPending / 2
    /// The share of the processor that encodes for one user's undecided messages while others write. A message of 25 words takes some 10 to 40 ms, the
    /// longest one 200 ms. Without a bound, a few of the longest would make the messages of everybody else late. Ten messages of 25 words in a second,
    /// as the rate limit permits, do not use it up.
    static let shareOfUser = 0.4
    /// How much time the undecided messages of one user may take at once.
    static let burstOfUser = Duration.seconds(1)
    /// At most this much of their time is counted, so that a user waits at most 1.25 s for their share.
    static let mostTakenByUser = Duration.milliseconds(1_500)
    /// A user who has used this much time has at most one pending message while others write.
    static let lightUse = Duration.milliseconds(250)
    /// Others write while one of them had a message within this time.
    static let othersTime = Duration.seconds(10)
    /// How much longer than the small encoder the large one takes for a message, by the sizes of their layers, rounded up.
    static let largeEncoderFactor = 6
    /// The share of the machine's time for ordinary messages.
    static let share = 0.05
    /// Ordinary messages also take at most this share of the one processor that encodes.
    static let maximumShareOfProcessor = 0.5
    /// The most time that is saved up while there are few messages, and the most that is owed.
    static let burst = Duration.milliseconds(500)

    /// Time that accrues per second.
    private let rate: Double
    private var credit = EncoderBudget.burst
    private var updated: ContinuousClock.Instant?
    private var pending = 0
    /// The number of pending messages by user; none is 0.
    private(set) var pendingOfUsers: [UserID: Int] = [:]
    private var writers = LatestWriters()
    /// The time that users' undecided messages took and that their share has not made up for.
    private(set) var takenByUsers: [UserID: Taken] = [:]
    /// When `takenByUsers` has as many users, those who owe nothing are removed.
    private var sweepCount = EncoderBudget.fewestSwept
    private static let fewestSwept = 256

    /// Time of the encoder, as it was `at` a time.
    struct Taken: Sendable {
        var time: Duration
        var at: ContinuousClock.Instant
    }

    init(processors: Int) { rate = min(EncoderBudget.share * Double(processors), EncoderBudget.maximumShareOfProcessor) }

    /// Counts a message as pending; nil when it may be encoded.
    mutating func admit(_ need: MessageAssessor.EncodingNeed, of userID: UserID, at now: ContinuousClock.Instant) -> Rejection? {
        credit = min(EncoderBudget.burst, credit + (updated.map { $0.duration(to: now) } ?? .zero) * rate)
        updated = now
        writers.note(userID, at: now)
        let pendingOfUser = pendingOfUsers[userID] ?? 0
        guard pendingOfUser < EncoderBudget.maximumPendingOfUser else { return .full }
        switch need {
        case .danger:
            guard pending < EncoderBudget.maximumPending else { return .full }
            if writers.hasOther(than: userID, since: now - EncoderBudget.othersTime) {
                let used = taken(by: userID, at: now)
                guard used < EncoderBudget.burstOfUser else { return .overBudget }
                guard used < EncoderBudget.lightUse || pendingOfUser == 0 else { return .full }
            }
        case .ordinary:
            guard pending < EncoderBudget.maximumPendingOrdinary else { return .full }
            guard credit > .zero else { return .overBudget }
        }
        pending += 1
        pendingOfUsers[userID] = pendingOfUser + 1
        return nil
    }

    /// Whether the large encoder may read a message, too. If it reads each of the pending messages as long, none of them may be late. An ordinary message
    /// also needs that time to be saved up.
    /// - Parameter time: that the small encoder took for the message. It is measured, because processors differ tenfold.
    func hasTimeForLargeEncoder(_ need: MessageAssessor.EncodingNeed, after time: Duration) -> Bool {
        let expected = time * EncoderBudget.largeEncoderFactor
        return expected * pending <= EncoderQueue.longestWait && (need == .danger || expected <= credit)
    }

    mutating func finish(_ need: MessageAssessor.EncodingNeed, of userID: UserID, after time: Duration) {
        pending -= 1
        if let count = pendingOfUsers[userID] { pendingOfUsers[userID] = count > 1 ? count - 1 : nil }
        switch need {
        case .ordinary: credit = max(.zero - EncoderBudget.burst, credit - time)
        case .danger: take(time, for: userID)
        }
    }

    private mutating func take(_ time: Duration, for userID: UserID) {
        // The time of the last admission is exact enough.
        guard let now = updated else { return }
        takenByUsers[userID] = Taken(time: min(EncoderBudget.mostTakenByUser, taken(by: userID, at: now) + time), at: now)
        guard takenByUsers.count >= sweepCount else { return }
        takenByUsers = takenByUsers.filter { taken(by: $0.key, at: now) > .zero }
        sweepCount = max(EncoderBudget.fewestSwept, 2 * takenByUsers.count)
    }

    private func taken(by userID: UserID, at now: ContinuousClock.Instant) -> Duration {
        guard let taken = takenByUsers[userID] else { return .zero }
        return max(.zero, taken.time - taken.at.duration(to: now) * EncoderBudget.shareOfUser)
    }
}

/// The last two users who wrote, and when each did last: enough to know of any user whether another one wrote lately.
private struct LatestWriters {
    private var last: (user: UserID, at: ContinuousClock.Instant)?
    private var other: (user: UserID, at: ContinuousClock.Instant)?

    mutating func note(_ user: UserID, at now: ContinuousClock.Instant) {
        if let last, last.user != user { other = last }
        last = (user, now)
    }

    func hasOther(than user: UserID, since: ContinuousClock.Instant) -> Bool {
        [last, other].contains { $0.map { $0.user != user && $0.at >= since } ?? false }
    }
}
