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

    private var beats: ArraySlice<ResponsePlan.Frame>
    private var due: Nanoseconds

    init(beats: [ResponsePlan.Frame], start: Nanoseconds) {
        self.beats = beats[...]
        due = start
        admit()
    }

    /// Every frame is due at a fixed time after the start, so that delays do not add up. A slow reader delays frames and then receives all
    /// overdue ones at once.
    mutating func next(now: Nanoseconds, isWritable: Bool) -> Step {
        guard let beat = beats.first else { return .over }
        guard due <= now else { return .wait(until: due) }
        guard isWritable else { return .waitUntilWritable }
        beats.removeFirst()
        admit()
        return .perform(beat.acts)
    }

    private mutating func admit() {
        guard let beat = beats.first else { return }
        due += Nanoseconds(beat.after * 1_000_000)
    }
}
