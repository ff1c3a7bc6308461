/// Decides what a connection does when: the beats of a speech against a clock that is given in. Pure.
struct Player {
    enum Step: Equatable {
        /// Nothing to do before this time.
        case wait(until: Nanoseconds)
        /// The socket is full; ask again when it is writable.
        case waitForReader
        case perform([Speech.Act])
        case over
    }

    typealias Nanoseconds = Int64

    private var beats: ArraySlice<Speech.Beat>
    private var due: Nanoseconds

    init(beats: [Speech.Beat], start: Nanoseconds) {
        self.beats = beats[...]
        due = start
        admit()
    }

    /// Beats are due at fixed times from the start: a slow reader delays tokens and then gets what it missed at once, and timers that
    /// fire late do not add up.
    mutating func next(now: Nanoseconds, isWritable: Bool) -> Step {
        guard let beat = beats.first else { return .over }
        guard due <= now else { return .wait(until: due) }
        guard isWritable else { return .waitForReader }
        beats.removeFirst()
        admit()
        return .perform(beat.acts)
    }

    private mutating func admit() {
        guard let beat = beats.first else { return }
        due += Nanoseconds(beat.after * 1_000_000)
    }
}
