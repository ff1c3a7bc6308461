import CoachCore
import TokenRelay

/// The checkpointed length of each running turn, and the checkpoints that still matter. Pure.
///
/// A checkpoint has the new text of all turns since the one before, so it would be needed as long as the longest turn runs. Therefore each turn
/// is saved whole once in `wholeInterval` ticks, spread over the ticks: older checkpoints can be removed, and readers need not look further back.
struct CheckpointCursors {
    private struct Place {
        var bytes = 0
        var isKnown = false
        var answeredBy: ModelName?
        /// The last checkpoint with the whole text.
        var whole: Int64?
    }
    private var places: [TurnIdentity: Place] = [:]
    private var leftOut: Set<TurnIdentity> = []
    private var tick: UInt8 = 0

    /// Ticks between two whole saves of a turn; divides 256. Eight seconds: then they cost about as much as the new text.
    static let wholeInterval: UInt8 = 32

    /// Checkpoints below this id have no text that is not in a later one, too.
    var neededFrom: Int64 { places.values.compactMap(\.whole).min() ?? .max }

    /// Begins a tick with the running turns and forgets the others.
    mutating func begin(_ turns: [LiveTurn]) {
        tick &+= 1
        let running = Set(turns.map(\.facts.identity))
        places = places.filter { running.contains($0.key) }
        leftOut.formIntersection(running)
    }

    /// Removes turns from the front and returns their new text, up to `limit` bytes; a turn's text is never divided. Empty when no turn has new
    /// text. Copies only what one statement carries, even after an outage.
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
        let place = places[turn.facts.identity] ?? Place()
        let from = Self.isWhole(turn.facts.identity.turnID, at: tick) ? 0 : place.bytes
        let (text, answeredBy) = turn.releasedText(from: from)
        guard !text.isEmpty || !place.isKnown else { return nil }
        return TurnProgress(
            facts: turn.facts, isFirst: place.bytes == 0 || place.answeredBy != answeredBy, promptTokens: turn.promptTokens,
            answeredBy: answeredBy, fromByte: from,
            text: String(decoding: text, as: UTF8.self))
    }

    /// Approximate size of the facts that are saved with the first text.
    private static let bytesOfFacts = 600

    /// The database rejects this turn's text: it is not saved again.
    mutating func leaveOut(_ turn: TurnIdentity) { leftOut.insert(turn) }

    /// The batch was saved. `id`: nil when it had no text.
    mutating func saved(_ batch: [TurnProgress], as id: Int64?) {
        for progress in batch {
            let isWhole = progress.fromByte == 0 && !progress.text.isEmpty
            places[progress.facts.identity] = Place(
                bytes: progress.fromByte + progress.text.utf8.count, isKnown: true, answeredBy: progress.answeredBy,
                whole: isWhole ? id : places[progress.facts.identity]?.whole)
        }
    }

    /// Whether the turn is saved whole at this tick. Turns are spread over the ticks by their ids, which are random.
    private static func isWhole(_ turn: TurnID, at tick: UInt8) -> Bool { turn.uuid.uuid.15 % wholeInterval == tick % wholeInterval }
}
