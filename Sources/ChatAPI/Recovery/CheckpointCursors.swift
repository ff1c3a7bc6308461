import CoachCore
import TokenRelay

/// The state of `Checkpointer`: how much text of each running turn is checkpointed, and which checkpoints are still needed. Pure.
///
/// A checkpoint contains the text of all turns that is new since the one before, so it would be needed as long as its longest turn runs.
/// Therefore each turn is saved completely once in `wholeInterval` ticks, different turns at different ticks. Older checkpoints can then be
/// removed, and readers need not read them.
struct CheckpointCursors {
    /// What is checkpointed of one turn.
    private struct Progress {
        /// How many bytes of the text are saved.
        var bytes = 0
        /// Whether the turn was saved at all, perhaps without text.
        var isKnown = false
        var answeredBy: ModelName?
        var unusedCalls = 0
        /// The last checkpoint with the whole text.
        var whole: Int64?

        mutating func saved(_ progress: TurnProgress, as id: Int64?) {
            bytes = progress.fromByte + progress.text.count
            isKnown = true
            if let start = progress.start { (answeredBy, unusedCalls) = (start.answeredBy, start.unusedCalls.count) }
            if progress.fromByte == 0, !progress.text.isEmpty { whole = id }
        }
    }

    private var checkpointed: [TurnIdentity: Progress] = [:]
    private var leftOut: Set<TurnIdentity> = []
    private var tick: UInt8 = 0

    /// The number of ticks between two complete saves of a turn; must divide 256. With 32 (8 s) complete saves cost about as much as new
    /// text.
    static let wholeInterval: UInt8 = 32

    /// The lowest id of a checkpoint that is needed: all text of earlier ones is also in later ones.
    var neededFrom: Int64 { checkpointed.values.reduce(.max) { min($0, $1.whole ?? .max) } }

    /// Begins a tick with the running turns and removes the others.
    mutating func begin(_ turns: [LiveTurn]) {
        tick &+= 1
        let running = Set(turns.map(\.facts.identity))
        let ended = checkpointed.keys.filter { !running.contains($0) }
        for turn in ended { checkpointed[turn] = nil }
        leftOut.formIntersection(running)
    }

    /// Removes turns from the front of `turns` and returns what is new of them for one statement; stops when it has `limit` bytes, but does not
    /// divide a turn's text.
    func collect(_ turns: inout ArraySlice<LiveTurn>, limit: Int) -> [TurnProgress] {
        var batch: [TurnProgress] = []
        var bytes = 0
        while bytes < limit, let turn = turns.popFirst() {
            guard let progress = progress(of: turn) else { continue }
            batch.append(progress)
            bytes += progress.text.count + (progress.start == nil ? 0 : Self.bytesOfStart)
        }
        return batch
    }

    private func progress(of turn: LiveTurn) -> TurnProgress? {
        let identity = turn.facts.identity
        guard !leftOut.contains(identity) else { return nil }
        let known = checkpointed[identity] ?? Progress()
        let from = Self.isWhole(identity.turnID, at: tick) ? 0 : known.bytes
        let (text, calls) = turn.releasedText(from: from)
        let hasNewUnusedCalls = known.unusedCalls != calls.unusedCalls.count
        // A model may think for long before its text: a crash meanwhile is billed to the one that accepted.
        let hasOtherModel = known.answeredBy != calls.answeredBy
        guard !text.isEmpty || !known.isKnown || hasOtherModel || hasNewUnusedCalls else { return nil }
        var progress = TurnProgress(identity: identity, start: nil, fromByte: from, text: text)
        if known.bytes == 0 || hasOtherModel || hasNewUnusedCalls {
            progress.start = TurnStart(
                facts: turn.facts, promptTokens: turn.promptTokens, answeredBy: calls.answeredBy, unusedCalls: calls.unusedCalls,
                recordedCalls: turn.recordedCalls())
        }
        return progress
    }

    /// Approximate size of a `TurnStart`.
    private static let bytesOfStart = 600

    /// The database rejected this turn's text: it is not collected again.
    mutating func leaveOut(_ turn: TurnIdentity) { leftOut.insert(turn) }

    /// A batch was saved. `id`: of its checkpoint; nil when the batch had no text.
    mutating func saved(_ batch: [TurnProgress], as id: Int64?) {
        for progress in batch { checkpointed[progress.identity, default: Progress()].saved(progress, as: id) }
    }

    /// Nobody knows whether a batch was saved. The next one of each turn begins with its first byte: what began inside of a piece that is saved after all
    /// would look like the text behind a gap.
    mutating func failed(_ batch: [TurnProgress]) {
        for progress in batch { checkpointed[progress.identity]?.bytes = 0 }
    }

    /// Whether the turn is saved completely at this tick. Its random id decides, so that turns are spread over the ticks.
    private static func isWhole(_ turn: TurnID, at tick: UInt8) -> Bool { turn.uuid.uuid.15 % wholeInterval == tick % wholeInterval }
}
