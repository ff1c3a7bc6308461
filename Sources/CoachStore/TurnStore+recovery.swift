import CoachCore
import Foundation
import PostgresClient

extension TurnStore {
    /// What keeps running turns across crashes and shows them to other instances.
    public var recovery: TurnRecovery {
        TurnRecovery(
            renewLease: { try await renewLease() },
            checkpoint: { batch, neededFrom in try await checkpoint(batch, neededFrom: neededFrom) },
            load: { userID, turnID in try await load(turnID, of: userID) },
            tail: { places in try await tail(places) },
            requestStop: { caller, turnID in try await requestStop(caller, turnID) },
            orphans: { try await orphans() },
            retry: { caller, turnID in try await retry(caller, turnID) })
    }

    /// Renews the lease; see `TurnRecovery.renewLease`.
    public func renewLease() async throws -> [TurnID] {
        let owner = try owner()
        let stops: [UUID]? = try await StoreFault.translating {
            try await client.query("select stops from gateway.renew_lease(\(owner.instance), \(owner.epoch))") { rows in
                try rows.first { row in try row.value(0) }
            }
        }
        guard let stops else { throw LeaseLost() }
        return stops.map { TurnID($0) }
    }

    /// Saves what was said; see `TurnRecovery.checkpoint`. Safe to repeat after a lost answer.
    public func checkpoint(_ batch: [TurnProgress], neededFrom: Int64 = 0) async throws -> Int64? {
        let owner = try owner()
        let starts = StoredJSON.encode(batch.filter(\.isFirst).map(StoredProgress.init))
        let pieces = batch.filter { !$0.text.isEmpty }
        var said: [UInt8] = []
        var offsets: [Int] = []
        for piece in pieces {
            offsets.append(said.count)
            said += piece.text.utf8
        }
        // Columns and not JSON: this is the one statement whose size grows with the tokens of all turns.
        let query: Query = """
            select id from gateway.checkpoint(
                \(owner.instance), \(owner.epoch), \(starts)::jsonb, \(neededFrom),
                \(pieces.map(\.facts.identity.turnID)), \(pieces.map(\.facts.identity.attempt)),
                \(pieces.map(\.fromByte)), \(pieces.map { $0.fromByte + $0.text.utf8.count }), \(offsets), \(said))
            """
        let saved: Int64?? = try await StoreFault.translating {
            try await client.query(query) { rows in try rows.first { row in try row.value(0, as: Int64?.self) } }
        }
        guard let saved else { throw LeaseLost() }
        return saved
    }

    /// What turns that run elsewhere have said; see `TurnRecovery.tail`. A dead owner's turn counts as running until it is finished for it.
    public func tail(_ places: [TurnCursor]) async throws -> [TurnTail] {
        let argument = StoredJSON.encode(places)
        let positions = Dictionary(places.map { ($0.turnID, $0.afterByte) }) { first, _ in first }
        let found: [(id: TurnID, attempt: Int, piece: CheckpointedPiece, seen: Int64?)] = try await StoreFault.translating {
            try await client.query("select turn_id, attempt, from_byte, content, seen from gateway.tail(\(argument)::jsonb)") {
                rows in
                try rows.map { row in
                    (
                        TurnID(try row.value(0)), try row.value(1),
                        CheckpointedPiece(fromByte: try row.value(2, as: Int?.self) ?? 0, text: try row.value(3, as: String?.self) ?? ""),
                        try row.value(4, as: Int64?.self)
                    )
                }
            }
        }
        return found.map {
            TurnTail(
                turnID: $0.id, attempt: $0.attempt, text: $0.piece.text(after: positions[$0.id] ?? 0), seen: $0.seen)
        }
    }

    /// See `TurnRecovery.requestStop`.
    public func requestStop(_ caller: Caller, _ turnID: TurnID) async throws -> Bool {
        try await StoreFault.translating {
            try await repeatingContended {
                let query = Claims.gateway(for: caller, calling: "gateway.request_stop(\(caller.userID), \(turnID))")
                return try await client.query(query, affinity: caller.userID.affinity) { rows in
                    try rows.only { row in try row.value(0) }
                }
            }
        }
    }

    /// See `TurnRecovery.orphans`. At most 200 at a time, the oldest first: ask again when they are settled.
    public func orphans() async throws -> [OrphanedTurn] {
        let owner = try owner()
        return try await StoreFault.translating {
            let text: String = try await client.query("select gateway.orphans(\(owner.instance), \(owner.epoch), 200)") { rows in
                try rows.only { row in try row.value(0) }
            }
            return try StoredJSON.decode([OrphanedTurn].self, from: text)
        }
    }

    /// Turns that somebody wants stopped, wherever they run, as soon as the database says so. A stop that is missed while the connection is
    /// away comes with the next renewal of the lease.
    public func stops() -> some AsyncSequence<TurnID, Never> & Sendable {
        client.listen(["coach_stop"]).compactMap { event in
            guard case .notification(_, let payload, _) = event else { return nil }
            return TurnID(validating: payload)
        }
    }
}

/// Text of a turn as the checkpoints hold it, from some byte on.
struct CheckpointedPiece: Sendable, Equatable {
    var fromByte: Int
    var text: String

    /// What stands after a byte of the answer. Empty when nothing does, and when the byte is inside a character or before the piece: nothing
    /// that could be appended at that byte is known then.
    func text(after byte: Int) -> String {
        let utf8 = text.utf8
        guard byte >= fromByte, let start = utf8.index(utf8.startIndex, offsetBy: byte - fromByte, limitedBy: utf8.endIndex),
            let boundary = start.samePosition(in: text.unicodeScalars)
        else { return "" }
        return String(text.unicodeScalars[boundary...])
    }
}
