/// Decides when an event of a billing sender is stored. Chat comes first: events beyond the rate of the instance wait, and those that wait are
/// stored down to four times as slowly while turns take longer to begin than without events.
///
/// Events below the rate never wait, whatever turns do. Those that wait for a quarter of a second already yield less, and from half a second on not
/// at all: so a sender has its answers within a second (CONTRACT §6) over as many connections as half a second's events.
struct IntakePace {
    typealias Instant = ContinuousClock.Instant

    /// How long an event waits at most; senders wait for an answer for ten seconds (Stripe, Google Play) and more.
    private static let longestWait = Duration.seconds(5)
    /// Events that wait longer than half of this yield less, and those that wait longer than it not at all.
    private static let longestYield = Duration.milliseconds(500)
    /// Without a turn for this long, there is nothing to yield to.
    private static let turnPause = Duration.seconds(5)
    /// At this share of the rate, events are said to slow turns down.
    private static let busyShare = 10
    /// For how long that is said at most after the last event.
    private static let longestBusy = Duration.seconds(2)

    private let interval: Duration
    /// How much earlier than at even intervals an event may be stored: the events of a second need not wait after a pause.
    private let burst: Duration
    /// When the next event is due at even intervals.
    private var due: Instant
    private var busyUntil: Instant
    private var lastTurn: Instant?
    private var slowdown = TurnSlowdown()

    /// - Parameter eventsPerSecond: that are stored, on average; those of a second at once.
    init(eventsPerSecond: Int, at now: Instant) {
        interval = .seconds(1) / eventsPerSecond
        burst = interval * (eventsPerSecond - 1)
        (due, busyUntil) = (now, now)
    }

    /// How long an event waits that comes now; nil, and without effect, when that would be too long.
    mutating func admit(at now: Instant) -> Duration? {
        let moment = max(due, now)
        let pause = max(moment - burst - now, .zero)
        if pause > Self.longestWait { return nil }
        due = moment + interval * stretch(after: pause, at: now)
        busyUntil = min(max(busyUntil, now) + interval * Self.busyShare, now + Self.longestBusy)
        return pause
    }

    /// A turn began, after so long in the database.
    mutating func turnBegan(at now: Instant, after duration: Duration) {
        lastTurn = now
        slowdown.record(duration, besideEvents: now < busyUntil)
    }

    /// By how much the interval after an event is longer than usual.
    private func stretch(after pause: Duration, at now: Instant) -> Double {
        guard pause > .zero, let lastTurn, now - lastTurn < Self.turnPause else { return 1 }
        return 1 + (slowdown.yield - 1) * min(max(0, 2 - 2 * (pause / Self.longestYield)), 1)
    }
}
