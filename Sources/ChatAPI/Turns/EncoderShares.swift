import CoachCore

/// Limits the time of the encoders for one user's messages with undecided danger while others write: a token bucket for each user. A message of 25 words
/// takes some 10 to 40 ms, the longest one 200 ms: without a limit a few of the longest would make the messages of all other users late. Pure.
struct EncoderShares {
    /// The share of the processor that encodes. Ten messages of 25 words in a second, as the rate limit permits, do not use it up.
    static let share = 0.4
    /// The most time that a user may take at once.
    static let burst = Duration.seconds(1)
    /// The most time that is counted, so that a user waits at most 1.25 s for their share.
    static let maximumUsed = Duration.milliseconds(1_500)
    /// A user who has used this much time has at most one pending message.
    static let lightUse = Duration.milliseconds(250)
    /// Others write while one of them had a message within this time.
    static let othersTime = Duration.seconds(10)

    /// Time that a user has used and that their share had not made up for at an instant.
    struct Use: Sendable {
        var time: Duration
        var at: ContinuousClock.Instant
    }

    private(set) var uses: [UserID: Use] = [:]
    private var writers = LatestWriters()
    /// `uses` has this many elements when those that are made up for are removed.
    private var sweepCount = EncoderShares.minimumSweepCount
    private static let minimumSweepCount = 256

    /// Notes that a user has sent a message.
    mutating func noteWriter(_ userID: UserID, at now: ContinuousClock.Instant) { writers.note(userID, at: now) }

    /// Why a message is not encoded; nil when it may be. `pending` is the number of the user's messages that are pending.
    func rejection(of userID: UserID, pending: Int, at now: ContinuousClock.Instant) -> EncoderBudget.Rejection? {
        guard writers.hasOther(than: userID, since: now - Self.othersTime) else { return nil }
        let used = used(by: userID, at: now)
        guard used < Self.burst else { return .overBudget }
        return used < Self.lightUse || pending == 0 ? nil : .full
    }

    /// Counts time that a user's message took.
    mutating func charge(_ time: Duration, to userID: UserID, at now: ContinuousClock.Instant) {
        uses[userID] = Use(time: min(Self.maximumUsed, used(by: userID, at: now) + time), at: now)
        guard uses.count >= sweepCount else { return }
        uses = uses.filter { used(by: $0.key, at: now) > .zero }
        sweepCount = max(Self.minimumSweepCount, 2 * uses.count)
    }

    private func used(by userID: UserID, at now: ContinuousClock.Instant) -> Duration {
        guard let use = uses[userID] else { return .zero }
        return max(.zero, use.time - use.at.duration(to: now) * Self.share)
    }
}

/// The last two users who wrote, and when. Enough to know of any user whether another one wrote lately.
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
