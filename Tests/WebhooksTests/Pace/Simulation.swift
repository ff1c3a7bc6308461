@testable import Webhooks

/// Turns and events on a clock of their own. A turn takes longer to begin the more events were stored in the second before.
struct Simulation {
    var turnsPerSecond = 50
    /// The share of its time by which one event a second makes a turn longer.
    var delayPerEvent = 0.3 / 540

    /// What the machine can store.
    var eventsPerSecond = 1000

    private static let step = Duration.milliseconds(1)
    private var pace: IntakePace
    private var now: IntakePace.Instant
    /// When each event of the last second was or will be stored, in order.
    private var stored: [IntakePace.Instant] = []
    private var lastStored: IntakePace.Instant
    private var answered = 0
    private var turns = 0.0
    private var began = 0

    init(rate: Int) {
        now = .now
        lastStored = now
        pace = IntakePace(eventsPerSecond: rate, at: now)
    }

    /// Turns without events.
    mutating func runTurns(for duration: Duration) {
        let end = now + duration
        while now < end { advance() }
    }

    /// Nothing is stored for so long.
    mutating func stopDatabase(for duration: Duration) { lastStored = max(lastStored, now) + duration }

    /// Connections that send an event as soon as the one before is answered. Returns how long each event waited for the pace.
    mutating func replay(connections: Int, for duration: Duration) -> [Duration] {
        let end = now + duration
        var isFree = Array(repeating: now, count: connections)
        var waits: [Duration] = []
        while now < end {
            for connection in isFree.indices where isFree[connection] <= now {
                guard let wait = pace.admit(at: now) else { continue }
                waits.append(wait)
                isFree[connection] = store(after: wait)
            }
            advance()
        }
        return waits
    }

    /// Events at even intervals, whether they are answered or not. Returns how long each waited for the pace.
    mutating func send(every interval: Duration, for duration: Duration) -> [Duration] {
        let end = now + duration
        var due = now
        var waits: [Duration] = []
        while now < end {
            while due <= now {
                if let wait = pace.admit(at: now) {
                    waits.append(wait)
                    _ = store(after: wait)
                }
                due += interval
            }
            advance()
        }
        return waits
    }

    /// When the event is stored and answered: 4 ms after its wait at the earliest, and after those before.
    private mutating func store(after wait: Duration) -> IntakePace.Instant {
        lastStored = max(lastStored + .seconds(1) / eventsPerSecond, now + wait + .milliseconds(4))
        stored.append(lastStored)
        return lastStored
    }

    private mutating func advance() {
        now += Self.step
        while answered < stored.count, stored[answered] <= now {
            pace.answered(at: now)
            answered += 1
        }
        turns += Double(turnsPerSecond) / 1000
        guard turns >= 1 else { return }
        turns -= 1
        began += 1
        let old = stored.prefix { $0 < now - .seconds(1) }.count
        stored.removeFirst(old)
        answered -= old
        // Every turn takes another time, from half to one and a half times the usual one.
        let noise = 0.5 + Double(began * 7 % 16) / 15
        pace.turnBegan(at: now, after: .milliseconds(1) * (noise * (1 + delayPerEvent * Double(answered))))
    }
}
