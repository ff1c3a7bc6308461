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
    }
    private var checkpointed: [TurnIdentity: Progress] = [:]
    private var leftOut: Set<TurnIdentity> = []
    private var tick: UInt8 = 0

    /// The number of ticks between two complete saves of a turn; must divide 256. With 32 (8 s) complete saves cost about as much as new
    /// text.
    static let wholeInterval: UInt8 = 32

    /// The lowest id of a checkpoint that is needed: all text of earlier ones is also in later ones.
    var neededFrom: Int64 { checkpointed.values.compactMap(\.whole).min() ?? .max }

    /// In how many shares so many turns are saved, one after another within a tick: saving 1,000 at once kept a processor busy for 2.5 ms here
    /// and another in PostgreSQL, in which tokens waited.
    static func shareCount(_ turns: Int) -> Int {
        var count = 1
        while count < mostShares, turns > count * turnsPerShare { count *= 2 }
        return count
    }

    /// The turns of a share. A turn stays at its place in the tick while `count` stays; when that changes, it may once be saved two intervals
    /// after the last time.
    static func share(_ share: Int, of count: Int, _ turns: [LiveTurn]) -> [LiveTurn] {
        count == 1 ? turns : turns.filter { Int($0.facts.identity.turnID.uuid.uuid.14) % count == share }
    }

    /// Each share costs a transaction. With 1,000 turns, thus 8 shares, and `StreamLoop.timeSlice` the added time of a token is 1.1 ms at p99, 1.7
    /// with neither.
    private static let turnsPerShare = 128
    /// A power of two, so that a byte of the id divides evenly.
    private static let mostShares = 16

    /// Begins a tick with the running turns and removes the others.
    mutating func begin(_ turns: [LiveTurn]) {
        tick &+= 1
        let running = Set(turns.map(\.facts.identity))
        checkpointed = checkpointed.filter { running.contains($0.key) }
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
            bytes += progress.text.utf8.count + (progress.isFirst ? Self.bytesOfFacts : 0)
        }
        return batch
    }

    private func progress(of turn: LiveTurn) -> TurnProgress? {
        guard !leftOut.contains(turn.facts.identity) else { return nil }
        let known = checkpointed[turn.facts.identity] ?? Progress()
        let from = Self.isWhole(turn.facts.identity.turnID, at: tick) ? 0 : known.bytes
        let (text, calls) = turn.releasedText(from: from)
        let hasNewUnusedCalls = known.unusedCalls != calls.unusedCalls.count
        // A model may think for long before its text: a crash meanwhile is billed to the one that accepted.
        let hasOtherModel = known.answeredBy != calls.answeredBy
        guard !text.isEmpty || !known.isKnown || hasOtherModel || hasNewUnusedCalls else { return nil }
        let isFirst = known.bytes == 0 || hasOtherModel || hasNewUnusedCalls
        return TurnProgress(
            facts: turn.facts, isFirst: isFirst, promptTokens: turn.promptTokens, answeredBy: calls.answeredBy,
            unusedCalls: calls.unusedCalls, recordedCalls: isFirst ? turn.recordedCalls() : [], fromByte: from,
            text: String(decoding: text, as: UTF8.self))
    }

    /// Approximate size of the facts that are saved with the first text.
    private static let bytesOfFacts = 600

    /// The database rejected this turn's text: it is not collected again.
    mutating func leaveOut(_ turn: TurnIdentity) { leftOut.insert(turn) }

    /// A batch was saved. `id`: of its checkpoint; nil when the batch had no text.
    mutating func saved(_ batch: [TurnProgress], as id: Int64?) {
        for progress in batch {
            let isWhole = progress.fromByte == 0 && !progress.text.isEmpty
            checkpointed[progress.facts.identity] = Progress(
                bytes: progress.fromByte + progress.text.utf8.count, isKnown: true, answeredBy: progress.answeredBy,
                unusedCalls: progress.unusedCalls.count, whole: isWhole ? id : checkpointed[progress.facts.identity]?.whole)
        }
    }

    /// Whether the turn is saved completely at this tick. Its random id decides, so that turns are spread over the ticks.
    private static func isWhole(_ turn: TurnID, at tick: UInt8) -> Bool { turn.uuid.uuid.15 % wholeInterval == tick % wholeInterval }
}
