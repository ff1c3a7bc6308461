/// Port that keeps running turns across crashes and makes them visible to other instances. `CoachStore` implements it on PostgreSQL.
/// Every closure throws `StoreFault`; `renewLease` and `checkpoint` also `LeaseLost`.
public struct TurnRecovery: Sendable {
    /// Renews this instance's lease: one small statement, several times a second. Returns turns of this instance that are to stop
    /// through another one.
    public var renewLease: @Sendable () async throws -> [TurnID]
    /// Saves the text that running turns of this instance released since the last checkpoint; the caller bounds the bytes. Removes
    /// checkpoints with an id below `neededFrom`: later ones repeat their text, or the turn has ended. Returns the checkpoint's id, higher
    /// than all before; nil without text. Safe to repeat when its result was lost.
    public var checkpoint: @Sendable (_ turns: [TurnProgress], _ neededFrom: Int64) async throws -> Int64?
    /// The current state of the user's turn, with its text when it has ended; nil when it does not exist, belongs to another user, or its
    /// conversation was deleted.
    public var load: @Sendable (UserID, TurnID) async throws -> KnownTurn?
    /// Checkpointed text of turns on other instances after a read position. Omits ended turns, which `load` returns. A turn of an expired owner
    /// counts as running until it is finalized. The caller bounds the turns: each may have 64 KiB.
    public var tail: @Sendable ([TurnCursor]) async throws -> [TurnTail]
    /// Asks the instance that runs a turn to stop it; when that has crashed, the turn ends as stopped once it is an orphan. No effect on an ended
    /// turn. Returns false when the caller has no such turn.
    public var requestStop: @Sendable (Caller, TurnID) async throws -> Bool
    /// Turns of expired owners: their lease expired on the database's clock, or the owner was an earlier process of this instance. None
    /// shortly after an outage of the database, when running owners cannot have renewed their leases. Also old turns of this process: a failover
    /// may have brought them back after their end. The caller finalizes them, except those that it runs; concurrent callers are safe. A lot of the
    /// oldest without those of `tried`, because each may have 64 KiB of text: call again until it is empty.
    public var orphans: @Sendable (_ tried: [TurnID]) async throws -> [OrphanedTurn]

    public init(
        renewLease: @escaping @Sendable () async throws -> [TurnID],
        checkpoint: @escaping @Sendable (_ turns: [TurnProgress], _ neededFrom: Int64) async throws -> Int64?,
        load: @escaping @Sendable (UserID, TurnID) async throws -> KnownTurn?,
        tail: @escaping @Sendable ([TurnCursor]) async throws -> [TurnTail],
        requestStop: @escaping @Sendable (Caller, TurnID) async throws -> Bool,
        orphans: @escaping @Sendable (_ tried: [TurnID]) async throws -> [OrphanedTurn]
    ) {
        self.renewLease = renewLease
        self.checkpoint = checkpoint
        self.load = load
        self.tail = tail
        self.requestStop = requestStop
        self.orphans = orphans
    }
}

/// Another process took over this instance's identity and finalizes its turns. This process must exit.
public struct LeaseLost: Error, Sendable, Equatable {
    public init() {}
}

/// Input of `checkpoint`: the new text of a running turn since the last one, or all of it from the beginning.
public struct TurnProgress: Sendable, Equatable {
    public var identity: TurnIdentity
    /// Until a checkpoint of the turn with text is saved, and once more when the answering model or the unused calls change; nil otherwise.
    public var start: TurnStart?
    /// Offset of `text` in the answer, in bytes.
    public var fromByte: Int
    /// UTF-8, whole characters; empty when there is no new text.
    public var text: [UInt8]

    public init(identity: TurnIdentity, start: TurnStart?, fromByte: Int, text: [UInt8]) {
        self.identity = identity
        self.start = start
        self.fromByte = fromByte
        self.text = text
    }
}

/// What a checkpoint saves of a turn beside its text: for subscribers on other instances, and for the estimate after a crash.
public struct TurnStart: Sendable, Equatable {
    public var facts: TurnFacts
    /// Estimated tokens of the prompt.
    public var promptTokens: Int
    /// The model whose answer this is. nil: none is awaited or read.
    public var answeredBy: ModelName?
    /// Calls whose answers are not used.
    public var unusedCalls: [UnusedCall]
    /// The numbers under which requests after the first were recorded, in the order of the requests.
    public var recordedCalls: [Int]

    public init(
        facts: TurnFacts, promptTokens: Int, answeredBy: ModelName?, unusedCalls: [UnusedCall] = [], recordedCalls: [Int] = []
    ) {
        self.facts = facts
        self.promptTokens = promptTokens
        self.answeredBy = answeredBy
        self.unusedCalls = unusedCalls
        self.recordedCalls = recordedCalls
    }
}

/// A read position in the answer of a turn: input of `tail`.
public struct TurnCursor: Sendable, Hashable {
    public var userID: UserID
    public var turnID: TurnID
    public var afterByte: Int
    /// `TurnTail.seen` of the previous `tail` of this attempt; nil for the first.
    public var seen: Int64?

    public init(userID: UserID, turnID: TurnID, afterByte: Int, seen: Int64? = nil) {
        self.userID = userID
        self.turnID = turnID
        self.afterByte = afterByte
        self.seen = seen
    }
}

/// Checkpointed text of a turn after a read position: output of `tail`.
public struct TurnTail: Sendable, Equatable {
    public var turnID: TurnID
    /// The latest attempt, to which the text belongs.
    public var attempt: Int
    /// Whole characters from `afterByte` on.
    public var text: String
    /// Id of the owner's newest checkpoint, from which the next `tail` continues.
    public var seen: Int64?

    public init(turnID: TurnID, attempt: Int, text: String, seen: Int64? = nil) {
        self.turnID = turnID
        self.attempt = attempt
        self.text = text
        self.seen = seen
    }
}

/// A turn that nobody runs, from its checkpoints.
public struct OrphanedTurn: Sendable, Equatable {
    /// As at the last checkpoint. Without one no calls are known, the prompt has 0 tokens, the domain is undecided and the risk is that of the
    /// message alone.
    public var start: TurnStart
    /// The text up to the last checkpoint.
    public var content: String
    /// From the start to the last renewal of the owner's lease.
    public var durationMilliseconds: Int
    /// Whether `requestStop` was called while it ran.
    public var isStopRequested: Bool

    public init(start: TurnStart, content: String, durationMilliseconds: Int, isStopRequested: Bool = false) {
        self.start = start
        self.content = content
        self.durationMilliseconds = durationMilliseconds
        self.isStopRequested = isStopRequested
    }

    public var facts: TurnFacts { start.facts }
}
