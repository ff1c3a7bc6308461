/// Decides when an event of a billing sender is stored. Chat comes first: events beyond the rate of the instance wait, and while turns take longer to
/// begin than without events, those that come too fast are stored more slowly, down to a quarter of the rate. What would wait for more than five
/// seconds is refused. A token bucket (GCRA) of one second's events.
///
/// Those that wait end to wait together, fifty times a second, because events that are stored together cost less (`BillingInbox`).
///
/// Events below the rate wait only while a turn begins (`TurnGate`), unless they pile up for seconds: then they come faster than this machine stores
/// them. Those that wait for a quarter of a second already yield less, and from half a second on not at all: so a sender has its answers within a
/// second (CONTRACT §6) over as many connections as half a second's events.
struct IntakePace {
    typealias Instant = ContinuousClock.Instant

    /// How long an event waits at most; senders wait for an answer for ten seconds (Stripe, Google Play) and more.
    private static let longestWait = Duration.seconds(5)
    /// Events that wait longer than half of this yield less, and those that wait longer than it not at all.
    private static let longestYield = Duration.milliseconds(500)
    /// Without a turn for this long, there is nothing to yield to.
    private static let turnPause = Duration.seconds(5)
    /// Events pile up when there are more than `mostAtOnce` for this long. Pauses of a disk are shorter.
    private static let longestPileUp = Duration.seconds(3)
    /// Turns count as beside events for so many intervals after each event: always, at a tenth of the rate.
    private static let busyIntervals = 10
    /// And no longer than this after the last one.
    private static let longestBusy = Duration.seconds(2)

    /// Between moments at which events end to wait. Measured: with half of it groups are smaller, and an event costs almost twice as much.
    private static let step = Duration.milliseconds(20)

    private let start: Instant
    private let interval: Duration
    /// How much earlier than at even intervals an event may be stored: the events of a second need not wait after a pause.
    private let burst: Duration
    /// When the next event is due at even intervals.
    private var due: Instant
    /// When more events than this are unanswered, some wait for others to be stored: as many as come in a hundredth of a second, while `TurnGate` is closed.
    private let mostAtOnce: Int
    /// Events that came and are not answered.
    private var unanswered = 0
    /// When there were last at most `mostAtOnce` of them.
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

    /// How long an event waits that comes now; nil, and without effect, when that would be too long. Each that waits is answered later.
    mutating func admit(at now: Instant) -> Duration? {
        if unanswered <= mostAtOnce { lastFew = now }
        let isPiledUp = now - lastFew > Self.longestPileUp
        // Then the events of a second are no burst.
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

    /// A turn began, after so long in the database.
    mutating func turnBegan(at now: Instant, after duration: Duration) {
        lastTurn = now
        slowdown.record(duration, besideEvents: now < busyUntil)
    }

    /// By how much the interval after an event that comes too fast is longer than usual.
    private func stretch(after pause: Duration, at now: Instant) -> Double {
        guard let lastTurn, now - lastTurn < Self.turnPause else { return 1 }
        return 1 + (slowdown.yield - 1) * min(max(0, 2 - 2 * (pause / Self.longestYield)), 1)
    }
}
