import NIOCore
import Synchronization
import TokenRelay

/// Keeps a silent line alive: a comment within 10 s of silence, and every 10 s (CONTRACT §4).
public struct Heartbeat: Sendable {
    static let comment = Array(": ping\n\n".utf8)

    /// Looked at so often that the comment is never later than `silence + resolution`.
    let resolution: TimeAmount
    let silence: Duration
    /// A client that takes nothing for this long is cut off: its write has not ended.
    let stall: Duration

    /// The contract's rhythm: 9 s of silence seen by a look every 900 ms is less than 10 s.
    public init(silence: Duration = .seconds(9), resolution: TimeAmount = .milliseconds(900), stall: Duration = .seconds(75)) {
        self.silence = silence
        self.resolution = resolution
        self.stall = stall
    }

    func start(on loop: any EventLoop, ringing follower: Follower, onStall: @escaping @Sendable () -> Void) -> Beat {
        let beat = Beat()
        let (silence, stall) = (silence, stall)
        beat.schedule = loop.scheduleRepeatedTask(initialDelay: resolution, delay: resolution) { _ in
            if beat.silentFor() >= silence { follower.ring(.heartbeat) }
            if beat.stuckFor() >= stall { onStall() }
        }
        return beat
    }

    /// The heartbeat of one stream.
    final class Beat: Sendable {
        private struct Writing {
            var last = ContinuousClock.now
            var since: ContinuousClock.Instant?
        }
        private let writing = Mutex(Writing())
        private let task = Mutex<RepeatedTask?>(nil)

        var schedule: RepeatedTask? {
            get { task.withLock { $0 } }
            set { task.withLock { $0 = newValue } }
        }

        func willWrite() { writing.withLock { $0.since = .now } }
        func wrote() { writing.withLock { $0 = Writing() } }
        func silentFor() -> Duration { writing.withLock { $0.last.duration(to: .now) } }
        func stuckFor() -> Duration { writing.withLock { $0.since?.duration(to: .now) ?? .zero } }
        func stop() { schedule?.cancel() }
    }
}
