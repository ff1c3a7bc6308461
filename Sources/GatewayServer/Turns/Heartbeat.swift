import NIOCore
import Synchronization
import TokenRelay

/// Keeps a silent line alive: a comment within 10 s of silence, and every 10 s (CONTRACT §4).
public struct Heartbeat: Sendable {
    static let comment = Array(": ping\n\n".utf8)

    /// Looked at so often that the comment is never later than `silence + resolution`.
    let resolution: TimeAmount
    let silence: Duration

    /// The contract's rhythm: 9 s of silence seen by a look every 900 ms is less than 10 s.
    public init(silence: Duration = .seconds(9), resolution: TimeAmount = .milliseconds(900)) {
        self.silence = silence
        self.resolution = resolution
    }

    func start(on loop: any EventLoop, ringing follower: Follower) -> Beat {
        let beat = Beat()
        let silence = silence
        beat.schedule = loop.scheduleRepeatedTask(initialDelay: resolution, delay: resolution) { _ in
            if beat.silentFor() >= silence { follower.ring(.heartbeat) }
        }
        return beat
    }

    /// The heartbeat of one stream.
    final class Beat: Sendable {
        private let lastWrite = Mutex(ContinuousClock.now)
        private let task = Mutex<RepeatedTask?>(nil)

        var schedule: RepeatedTask? {
            get { task.withLock { $0 } }
            set { task.withLock { $0 = newValue } }
        }

        func wrote() { lastWrite.withLock { $0 = .now } }
        func silentFor() -> Duration { lastWrite.withLock { $0.duration(to: .now) } }
        func stop() { schedule?.cancel() }
    }
}
