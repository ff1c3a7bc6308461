import CoachCore
import Foundation
import PostgresClient

extension TurnRecovery {
    /// Leases and checkpoints in PostgreSQL. `owner` as for `TurnRepository.postgres`.
    /// - Parameters:
    ///   - client: the connections by which turns begin; also in place of each of the others while it has no connection.
    ///   - checkpointClient: for leases and checkpoints, of two connections or more, so that a lease does not wait for a checkpoint.
    ///   - textClient: for the text of many turns at once, megabytes that are decoded on its reactor's thread.
    public static func postgres(
        client: PostgresClient, checkpointClient: PostgresClient, textClient: PostgresClient,
        owner: @escaping @Sendable () throws -> TurnOwner
    ) -> TurnRecovery {
        // An instance that can begin turns must be able to keep them: without renewals its turns count as lost.
        let checkpoints: @Sendable () -> PostgresClient = { checkpointClient.whileReachable(else: client) }
        let texts: @Sendable () -> PostgresClient = { textClient.whileReachable(else: client) }
        return TurnRecovery(
            renewLease: { try await checkpoints().renewLease(of: owner()) },
            checkpoint: { turns, neededFrom in try await checkpoints().checkpoint(turns, neededFrom: neededFrom, owner: owner()) },
            load: { userID, turnID in
                let query = Claims.gateway(for: userID, calling: "gateway.load_turn(\(userID), \(turnID))")
                return try await StoreFault.translating {
                    let text = try await client.value(of: query, for: userID, as: String?.self)
                    return try text.map { try StoredJSON.decode(KnownTurn.self, from: $0) }
                }
            },
            tail: { cursors in try await texts().tail(cursors) },
            requestStop: { caller, turnID in
                try await client.call("gateway.request_stop(\(caller.userID), \(turnID))", for: caller)
            },
            orphans: { tried in
                let owner = try owner()
                return try await StoreFault.translating {
                    let text: String = try await texts().value(
                        of: "select gateway.orphans(\(owner.instance), \(owner.epoch), \(orphansAtOnce), \(tried))")
                    return try StoredJSON.decode([OrphanedTurn].self, from: text)
                }
            })
    }
}

/// Up to 4 MiB of text in one value. A statement reads all checkpoints of the expired owners, 0.15 s for 2,000 turns, so that small lots cost more.
private let orphansAtOnce = 64

extension PostgresClient {
    /// The ids of turns that a caller of `requestStop`, on any instance, wants to stop, by notification. Requests that are missed while the
    /// connection is lost are returned by the owner's next `renewLease`.
    /// - Parameter whenFailed: receives why no notifications arrive, once for each kind of failure in an outage.
    public func stopRequests(
        whenFailed: @escaping @Sendable (PostgresError) -> Void = { _ in }
    ) -> some AsyncSequence<TurnID, Never> & Sendable {
        listen(["coach_stop"]).compactMap { event in
            switch event {
            case .notification(_, let payload, _):
                return TurnID(validating: payload)
            case .failed(let error):
                whenFailed(error)
                return nil
            case .connected, .disconnected:
                return nil
            }
        }
    }

    /// This client; `other` while this one has no connection, as when the server has no slot left for it.
    fileprivate func whileReachable(else other: PostgresClient) -> PostgresClient { status.isReachable ? self : other }

    fileprivate func renewLease(of owner: TurnOwner) async throws -> [TurnID] {
        let stops: [UUID]? = try await StoreFault.translating {
            try await query("select stops from gateway.renew_lease(\(owner.instance), \(owner.epoch))") { rows in
                try rows.first { row in try row.value(0) }
            }
        }
        guard let stops else { throw LeaseLost() }
        return stops.map { TurnID($0) }
    }

    fileprivate func checkpoint(_ turns: [TurnProgress], neededFrom: Int64, owner: TurnOwner) async throws -> Int64? {
        let starts = StoredJSON.encode(turns.compactMap(\.start))
        // Arrays in binary form and not JSON, for speed: this statement's size grows with the text of all turns.
        let pieces = CheckpointPieces(turns)
        let query: Query = """
            select id from gateway.checkpoint(
                \(owner.instance), \(owner.epoch), \(starts)::jsonb, \(neededFrom),
                \(pieces.turns), \(pieces.attempts), \(pieces.from), \(pieces.to), \(pieces.offsets), \(pieces.text))
            """
        let saved: Int64?? = try await StoreFault.translating {
            try await self.query(query) { rows in try rows.first { row in try row.value(0, as: Int64?.self) } }
        }
        guard let saved else { throw LeaseLost() }
        return saved
    }

    fileprivate func tail(_ cursors: [TurnCursor]) async throws -> [TurnTail] {
        let argument = StoredJSON.encode(cursors)
        let positions = Dictionary(cursors.map { ($0.turnID, $0.afterByte) }) { first, _ in first }
        let found: [(id: TurnID, attempt: Int, text: CheckpointedText, seen: Int64?)] = try await StoreFault.translating {
            try await query("select turn_id, attempt, from_byte, content, seen from gateway.tail(\(argument)::jsonb)") { rows in
                try rows.map { row in
                    (
                        try row.value(0), try row.value(1),
                        CheckpointedText(fromByte: try row.value(2, as: Int?.self) ?? 0, text: try row.value(3, as: String?.self) ?? ""),
                        try row.value(4)
                    )
                }
            }
        }
        return found.map {
            TurnTail(turnID: $0.id, attempt: $0.attempt, text: $0.text.text(after: positions[$0.id] ?? 0), seen: $0.seen)
        }
    }
}

/// The text of a checkpoint, column by column as `gateway.checkpoints` stores it.
private struct CheckpointPieces {
    var turns: [UUID] = []
    var attempts: [Int32] = []
    /// Bytes of the answer.
    var from: [Int32] = []
    var to: [Int32] = []
    /// Where each turn's piece begins in `text`, in bytes.
    var offsets: [Int32] = []
    var text: [UInt8] = []

    init(_ progress: [TurnProgress]) {
        for piece in progress where !piece.text.isEmpty {
            turns.append(piece.identity.turnID.uuid)
            attempts.append(Int32(piece.identity.attempt))
            from.append(Int32(piece.fromByte))
            to.append(Int32(piece.fromByte + piece.text.count))
            offsets.append(Int32(text.count))
            text += piece.text
        }
    }
}

/// A part of a turn's text that was read from checkpoints: it begins at byte `fromByte` of the answer.
struct CheckpointedText: Sendable, Equatable {
    var fromByte: Int
    var text: String

    /// The text after the first `byte` bytes of the answer. Empty when there is none, when that position is inside a character, or when it
    /// is before `fromByte`, because the text in between is not known.
    func text(after byte: Int) -> String {
        let utf8 = text.utf8
        guard byte >= fromByte, let start = utf8.index(utf8.startIndex, offsetBy: byte - fromByte, limitedBy: utf8.endIndex),
            let boundary = start.samePosition(in: text.unicodeScalars)
        else { return "" }
        return String(text.unicodeScalars[boundary...])
    }
}
