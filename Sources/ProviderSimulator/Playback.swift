/// Decides when a connection sends which part of a response plan. Pure: the caller passes the time.
struct Playback {
    enum Step: Equatable {
        /// Call again at this time.
        case wait(until: Nanoseconds)
        /// The socket is full; call again when it is writable.
        case waitUntilWritable
        case perform([ResponsePlan.Step])
        case over
    }

    typealias Nanoseconds = Int64

    private var frames: ArraySlice<ResponsePlan.Frame>
    private var due: Nanoseconds

    init(frames: [ResponsePlan.Frame], start: Nanoseconds) {
        self.frames = frames[...]
        due = start
        admit()
    }

    /// Every frame is due at a fixed time after the start, so that delays do not add up. A slow reader delays frames and then receives all
    /// overdue ones at once.
    mutating func next(now: Nanoseconds, isWritable: Bool) -> Step {
        guard let frame = frames.first else { return .over }
        guard due <= now else { return .wait(until: due) }
        guard isWritable else { return .waitUntilWritable }
        frames.removeFirst()
        admit()
        return .perform(frame.steps)
    }

    private mutating func admit() {
        guard let frame = frames.first else { return }
        due += Nanoseconds(frame.after * 1_000_000)
    }
}
