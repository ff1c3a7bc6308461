import CoachCore
import TokenRelay

/// How far each running turn is saved, and in which checkpoints. Pure.
///
/// A checkpoint holds what all turns have said since the one before, so without more it would be needed as long as the longest turn runs.
/// Therefore each turn says all again from its beginning once in so many ticks, not all at the same one: what is older can go, and who wants to
/// read a turn need not look further back.
struct CheckpointCursors {
    private struct Place {
        var bytes = 0
        var isKnown = false
        /// The checkpoint with all that was said until then.
        var whole: Int64?
    }
    private var places: [TurnIdentity: Place] = [:]
    private var leftOut: Set<TurnIdentity> = []
    private var tick: UInt8 = 0

    /// Ticks from one time that a turn says all to the next; divides 256. Eight seconds: then it costs about as much as what is new.
    static let wholeInterval: UInt8 = 32

    /// Checkpoints below this id hold nothing any more that a running turn has not said again.
    var neededFrom: Int64 { places.values.compactMap(\.whole).min() ?? .max }

    /// Begins a tick with the turns that run; those that are gone are forgotten.
    mutating func begin(_ turns: [LiveTurn]) {
        tick &+= 1
        let running = Set(turns.map(\.facts.identity))
        places = places.filter { running.contains($0.key) }
        leftOut.formIntersection(running)
    }

    /// What is new in the first of these turns, which are taken off, up to so many bytes. One turn's text is never divided. Empty when nothing
    /// is new in any of them. Only what one statement carries is copied, however much an outage has left to be saved.
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
        let (text, answeredBy) = turn.said(from: from)
        guard !text.isEmpty || !place.isKnown else { return nil }
        return TurnProgress(
            facts: turn.facts, isFirst: place.bytes == 0, promptTokens: turn.promptTokens, answeredBy: answeredBy, fromByte: from,
            text: String(decoding: text, as: UTF8.self))
    }

    /// Of what is saved beside the first text, about.
    private static let bytesOfFacts = 600

    /// The database refuses what this turn says: it is not asked again.
    mutating func leaveOut(_ turn: TurnIdentity) { leftOut.insert(turn) }

    /// The batch is in the database. `id`: nil when it had no text.
    mutating func saved(_ batch: [TurnProgress], as id: Int64?) {
        for progress in batch {
            let isWhole = progress.fromByte == 0 && !progress.text.isEmpty
            places[progress.facts.identity] = Place(
                bytes: progress.fromByte + progress.text.utf8.count, isKnown: true,
                whole: isWhole ? id : places[progress.facts.identity]?.whole)
        }
    }

    /// Whether it is the turn's tick to say all. Turns are spread over the ticks by their ids, which are random.
    private static func isWhole(_ turn: TurnID, at tick: UInt8) -> Bool { turn.uuid.uuid.15 % wholeInterval == tick % wholeInterval }
}
