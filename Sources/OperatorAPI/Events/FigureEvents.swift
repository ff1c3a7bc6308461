import CoachCore
import Foundation
import Synchronization

/// Sends the state of the figures to all event streams of this instance: one query for all of them at each tick, none without a stream. A new stream
/// and a request for JSON read it once more.
public final class FigureEvents: Sendable {
    /// A bound of what one instance serves: each viewer has a connection.
    public static let maximumViewers = 64
    /// When `tick` is to be called: half as often as the rollups are folded, which the state follows.
    public static let schedule = PeriodicSchedule(every: .seconds(2), firstAfter: .seconds(2))

    private let live: LiveFigures
    private let isOpen: @Sendable () -> Bool
    private let last = Mutex(FigureState(asOf: nil, alertsChangedAt: nil))
    private let viewers = Mutex<(next: Int, states: [Int: AsyncStream<FigureState>.Continuation])>((0, [:]))

    /// - Parameter isOpen: false once the instance shuts down: the streams end.
    public init(live: LiveFigures, isOpen: @escaping @Sendable () -> Bool) {
        self.live = live
        self.isOpen = isOpen
    }

    /// Hands the state to the viewers, also when it is the same: the streams count ticks. While the state cannot be read, they get the last one
    /// that was, and `StoreFault` is thrown.
    public func tick() async throws {
        let states = viewers.withLock { Array($0.states.values) }
        guard !states.isEmpty else { return }
        guard isOpen() else {
            for viewer in states { viewer.finish() }
            return
        }
        defer {
            let newest = last.withLock(\.self)
            for viewer in states { viewer.yield(newest) }
        }
        let state = try await live.state()
        last.withLock { $0 = state }
    }

    /// The present state. Throws `StoreFault`.
    func state() async throws -> FigureState { try await live.state() }

    /// Throws when the caller may not read figures any more.
    func authorize(_ caller: Caller) async throws { try await live.authorize(caller) }

    /// nil when there are too many.
    func join() -> FigureViewer? {
        let (states, continuation) = AsyncStream.makeStream(of: FigureState.self, bufferingPolicy: .bufferingNewest(1))
        let number: Int? = viewers.withLock { viewers in
            guard viewers.states.count < Self.maximumViewers else { return nil }
            viewers.next += 1
            viewers.states[viewers.next] = continuation
            return viewers.next
        }
        return number.map { number in
            FigureViewer(states: states) { [weak self] in self?.viewers.withLock { _ = $0.states.removeValue(forKey: number) } }
        }
    }
}

/// One open event stream. It leaves when this is released: so a response that its client never read leaves, too.
final class FigureViewer: Sendable {
    /// The state at every `FigureEvents.tick`, the newest for a slow reader.
    let states: AsyncStream<FigureState>
    private let leave: @Sendable () -> Void

    init(states: AsyncStream<FigureState>, leave: @escaping @Sendable () -> Void) {
        self.states = states
        self.leave = leave
    }

    deinit { leave() }
}
