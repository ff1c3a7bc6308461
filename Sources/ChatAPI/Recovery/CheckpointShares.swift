import CoachCore

/// The shares in which running turns are saved, one after another within a tick of `Checkpointer`: saving 1,000 turns at once kept a processor busy
/// for 2.5 ms here and another in PostgreSQL, while tokens waited. Pure.
struct CheckpointShares {
    /// Each share costs a transaction, 0.17 ms of PostgreSQL when nothing else runs, and 128 turns in it 0.08 more. With 1,000 turns the added time of
    /// a token at p99 is as low with 2 shares as with 4, and a quarter higher with 8 and with one: `deploy/bench.d/README.md`, 2026-11-28.
    private static let turnsPerShare = 256
    /// A power of two, so that a byte of the id divides evenly.
    private static let maximumCount = 16

    let count: Int

    /// - Parameter turns: the number of running turns.
    init(turns: Int) {
        var count = 1
        while count < Self.maximumCount, turns > count * Self.turnsPerShare { count *= 2 }
        self.count = count
    }

    /// Which share a turn belongs to, from 0. It stays at its place in the tick while `count` stays. When that changes, the turn may once be saved
    /// two intervals after the last time.
    func share(of turn: TurnID) -> Int { Int(turn.uuid.uuid.14) % count }

    /// The shares to be saved together now, the first of which is `next`: all whose time in the tick has come. So a database that takes longer than
    /// the time of a share does not make the tick longer.
    /// - Parameter elapsed: since the tick began.
    func due(from next: Int, after elapsed: Duration, of interval: Duration) -> Range<Int> {
        next..<min(max(Int(elapsed / interval * Double(count)), next) + 1, count)
    }
}
