import CoachCore

extension TurnRecovery {
    /// A recovery of which the test gives what it uses; the rest finds nothing.
    static func fake(
        load: @escaping @Sendable (UserID, TurnID) async throws -> KnownTurn? = { _, _ in nil },
        tail: @escaping @Sendable ([TurnCursor]) async throws -> [TurnTail] = { _ in [] },
        orphans: @escaping @Sendable (_ tried: [TurnID]) async throws -> [OrphanedTurn] = { _ in [] }
    ) -> TurnRecovery {
        TurnRecovery(
            renewLease: { [] }, checkpoint: { _, _ in nil }, load: load, tail: tail, requestStop: { _, _ in false }, orphans: orphans)
    }
}
