@testable import Webhooks

/// Turns and events on a clock of their own. A turn takes longer to begin the more events were stored in the second before.
struct Simulation {
    var turnsPerSecond = 50
    /// The share of its time by which one event a second makes a turn longer.
    var delayPerEvent = 0.3 / 540

    private static let step = Duration.milliseconds(1)
    private var pace: IntakePace
    private var now: IntakePace.Instant
    private var stored: [IntakePace.Instant] = []
    private var turns = 0.0
    private var began = 0

    init(rate: Int) {
        now = .now
        pace = IntakePace(eventsPerSecond: rate, at: now)
    }

    /// Turns without events.
    mutating func runTurns(for duration: Duration) {
        let end = now + duration
        while now < end { advance() }
    }

    /// Connections that send an event as soon as the one before is answered, 4 ms after it could be stored. Returns how long each event waited.
    mutating func replay(connections: Int, for duration: Duration) -> [Duration] {
        let end = now + duration
        var isFree = Array(repeating: now, count: connections)
        var waits: [Duration] = []
        while now < end {
            for connection in isFree.indices where isFree[connection] <= now {
                guard let wait = pace.admit(at: now) else { continue }
                waits.append(wait)
                stored.append(now + wait)
                isFree[connection] = now + wait + .milliseconds(4)
            }
            advance()
        }
        return waits
    }

    /// Events at even intervals, whether they are answered or not. Returns how long each waited.
    mutating func send(every interval: Duration, for duration: Duration) -> [Duration] {
        let end = now + duration
        var due = now
        var waits: [Duration] = []
        while now < end {
            while due <= now {
                if let wait = pace.admit(at: now) {
                    waits.append(wait)
                    stored.append(now + wait)
                }
                due += interval
            }
            advance()
        }
        return waits
    }

    private mutating func advance() {
        now += Self.step
        turns += Double(turnsPerSecond) / 1000
        guard turns >= 1 else { return }
        turns -= 1
        began += 1
        stored.removeAll { $0 < now - .seconds(1) }
        let events = stored.count { $0 <= now }
        // Every turn takes another time, from half to one and a half times the usual one.
        let noise = 0.5 + Double(began * 7 % 16) / 15
        pace.turnBegan(at: now, after: .milliseconds(1) * (noise * (1 + delayPerEvent * Double(events))))
    }
}
