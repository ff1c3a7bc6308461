/// Decides when an event of a billing sender is stored. Chat comes first.
///
/// - Events beyond the rate of the instance wait: a token bucket (GCRA) of one second's events. An event that would wait for more than five seconds is
///   refused.
/// - While turns take longer to begin than without events, events beyond the rate are stored more slowly, down to a quarter of the rate.
/// - Waiting events are released together, fifty times a second, because events that are stored together cost less (`BillingInbox`).
/// - Events below the rate wait only while a turn begins (`TurnGate`). When events pile up for seconds, they come faster than this machine stores them,
///   and the burst of a second is not permitted.
/// - An event that waits for a quarter of a second is slowed down less, and one that waits for half a second not at all. So a sender has its answers
///   within a second (CONTRACT §6) over as many connections as half a second's events.
struct IntakePace {
    typealias Instant = ContinuousClock.Instant

    /// How long an event waits at most; senders wait for an answer for ten seconds (Stripe, Google Play) and more.
    private static let longestWait = Duration.seconds(5)
    /// An event that waits for more than half of this is slowed down less, and one that waits for all of it not at all.
    private static let longestYield = Duration.milliseconds(500)
    /// Without a turn for this long, there is nothing to yield to.
    private static let turnPause = Duration.seconds(5)
    /// Events pile up when there are more than `mostAtOnce` for this long. Pauses of a disk are shorter.
    private static let longestPileUp = Duration.seconds(3)
    /// A turn counts as beside events for so many intervals after an event: at a tenth of the rate, every turn does.
    private static let busyIntervals = 10
    /// A turn counts as beside events for at most this long after the last one.
    private static let longestBusy = Duration.seconds(2)

    /// The time between two releases of waiting events. Measured: with half of it the groups are smaller, and an event costs almost twice as much.
    private static let step = Duration.milliseconds(20)

    private let start: Instant
    private let interval: Duration
    /// How much earlier than at even intervals an event may be stored: the events of a second need not wait after a pause.
    private let burst: Duration
    /// When the next event is due at even intervals.
    private var due: Instant
    /// When more events than this are unanswered, some wait for others to be stored. As many come in a hundredth of a second, while `TurnGate` is closed.
    private let mostAtOnce: Int
    /// Events that came and are not answered.
    private var unanswered = 0
    /// The last time at which at most `mostAtOnce` events were unanswered.
    private var lastFew: Instant
    private var busyUntil: Instant
    private var lastTurn: Instant?
    private var slowdown = TurnSlowdown()

    /// - Parameter eventsPerSecond: that are stored, on average; those of a second at once.
    init(eventsPerSecond: Int, at now: Instant) {
        interval = .seconds(1) / eventsPerSecond
        burst = interval * (eventsPerSecond - 1)
        mostAtOnce = 4 + eventsPerSecond / 100
        (start, due, lastFew, busyUntil) = (now, now, now, now)
    }

    /// How long an event that comes now waits; nil, and without effect, when that would be too long. `answered(at:)` follows for each admitted event.
    mutating func admit(at now: Instant) -> Duration? {
        if unanswered <= mostAtOnce { lastFew = now }
        let isPiledUp = now - lastFew > Self.longestPileUp
        // Without the burst of a second.
        let moment = isPiledUp ? max(due, now + burst) : max(due, now)
        let pause = max(moment - burst - now, .zero)
        if pause > Self.longestWait { return nil }
        due = moment + interval * (isPiledUp || pause > .zero ? stretch(after: pause, at: now) : 1)
        unanswered += 1
        busyUntil = min(max(busyUntil, now) + interval * Self.busyIntervals, now + Self.longestBusy)
        return pause == .zero ? pause : pause + toNextStep(from: now + pause)
    }

    private func toNextStep(from moment: Instant) -> Duration {
        let steps = ((moment - start) / Self.step).rounded(.up)
        return max(start + Self.step * steps - moment, .zero)
    }

    /// An admitted event is stored, or failed to be.
    mutating func answered(at now: Instant) {
        unanswered -= 1
        if unanswered <= mostAtOnce { lastFew = now }
    }

    /// A turn began. The database took `duration` for that.
    mutating func turnBegan(at now: Instant, after duration: Duration) {
        lastTurn = now
        slowdown.record(duration, besideEvents: now < busyUntil)
    }

    /// The factor by which the interval after an event that comes too fast is longer than usual.
    private func stretch(after pause: Duration, at now: Instant) -> Double {
        guard let lastTurn, now - lastTurn < Self.turnPause else { return 1 }
        return 1 + (slowdown.yield - 1) * min(max(0, 2 - 2 * (pause / Self.longestYield)), 1)
    }
}
