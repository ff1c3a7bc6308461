/// What keeps running turns across crashes and makes them visible to other instances. `CoachStore` implements it on PostgreSQL.
/// Every closure throws `StoreFault`; `checkpoint` also `Outlived`.
public struct TurnKeeper: Sendable {
    /// Renews this instance's lease and saves what its running turns have said since the last time: one round trip, several times a
    /// second. Checkpoints with an id below `neededFrom` are removed: each turn has said all of theirs again since, or has ended.
    public var checkpoint: @Sendable (_ turns: [TurnProgress], _ neededFrom: Int64) async throws -> SavedCheckpoint
    /// A turn of the caller as it stands; nil when there is none, it is somebody else's, or its conversation was deleted.
    public var load: @Sendable (UserID, TurnID) async throws -> KnownTurn?
    /// What turns that run elsewhere have said after a byte, and whether they still run. Turns that are gone are left out.
    public var tail: @Sendable ([TurnPlace]) async throws -> [TurnTail]
    /// Asks the instance that runs a turn of the caller to stop it. Harmless when it has ended. False when the caller has no such turn.
    public var requestStop: @Sendable (Caller, TurnID) async throws -> Bool
    /// Turns whose owner is dead: its lease has run out on the database's clock, and nobody has just come back from an absence of the
    /// database, or it was an earlier life of this instance. To be settled by the caller; many may try at once.
    public var orphans: @Sendable () async throws -> [OrphanedTurn]
    /// A new turn on the user message of an ended one, whose answer is superseded: kept, but not sent to the model any more.
    public var retry: @Sendable (Caller, TurnID) async throws -> RetryOpening

    /// Memberwise.
    public init(
        checkpoint: @escaping @Sendable (_ turns: [TurnProgress], _ neededFrom: Int64) async throws -> SavedCheckpoint,
        load: @escaping @Sendable (UserID, TurnID) async throws -> KnownTurn?,
        tail: @escaping @Sendable ([TurnPlace]) async throws -> [TurnTail],
        requestStop: @escaping @Sendable (Caller, TurnID) async throws -> Bool,
        orphans: @escaping @Sendable () async throws -> [OrphanedTurn],
        retry: @escaping @Sendable (Caller, TurnID) async throws -> RetryOpening
    ) {
        self.checkpoint = checkpoint
        self.load = load
        self.tail = tail
        self.requestStop = requestStop
        self.orphans = orphans
        self.retry = retry
    }
}

/// A later life of this instance has begun: another process holds its identity, and settles its turns. This one must end.
public struct Outlived: Error, Sendable, Equatable {
    /// Nothing more to say.
    public init() {}
}

/// A checkpoint that is in the database.
public struct SavedCheckpoint: Sendable, Equatable {
    /// Higher than those before; nil when there was no text to save.
    public var id: Int64?
    /// Turns of this instance that somebody asked another instance to stop.
    public var stops: [TurnID]

    /// Memberwise.
    public init(id: Int64? = nil, stops: [TurnID] = []) {
        self.id = id
        self.stops = stops
    }
}

/// What became of the wish to try a turn again.
public enum RetryOpening: Sendable, Equatable {
    /// Call the model with this message.
    case begun(TurnContext, message: String, RateLimit)
    /// Nothing was written.
    case refused(Refusal, RateLimit)
}

/// What a running turn has said since its last checkpoint, or again from its beginning.
public struct TurnProgress: Sendable, Equatable {
    public var facts: TurnFacts
    /// True until text of it is saved: then all but the text is saved too, for followers elsewhere and for the estimate of a crash. No
    /// other provider takes over after the first text, so who answers is known for good.
    public var isFirst: Bool
    /// Estimated tokens of the prompt.
    public var promptTokens: Int
    /// Who accepted the call so far; nil: nothing can have been billed.
    public var answeredBy: ModelName?
    /// UTF-8 bytes of the answer before `text`.
    public var fromByte: Int
    /// Whole characters; empty when nothing was said since.
    public var text: String

    /// Memberwise.
    public init(facts: TurnFacts, isFirst: Bool, promptTokens: Int, answeredBy: ModelName?, fromByte: Int, text: String) {
        self.facts = facts
        self.isFirst = isFirst
        self.promptTokens = promptTokens
        self.answeredBy = answeredBy
        self.fromByte = fromByte
        self.text = text
    }
}

/// A byte of a turn's answer.
public struct TurnPlace: Sendable, Hashable {
    public var userID: UserID
    public var turnID: TurnID
    public var afterByte: Int
    /// `TurnTail.seen` of the last look at this attempt: all before the byte is known from it. nil: this is the first look.
    public var seen: Int64?

    /// Memberwise.
    public init(userID: UserID, turnID: TurnID, afterByte: Int, seen: Int64? = nil) {
        self.userID = userID
        self.turnID = turnID
        self.afterByte = afterByte
        self.seen = seen
    }
}

/// What the checkpoints hold of a turn after a place.
public struct TurnTail: Sendable, Equatable {
    public var turnID: TurnID
    /// The latest; the text is its own.
    public var attempt: Int
    /// False when it has ended, or when nobody runs it any more: then `TurnKeeper.load` tells the end, once it is settled.
    public var isRunning: Bool
    /// Whole characters from `afterByte` on.
    public var text: String
    /// The newest of its owner's checkpoints: the next look may begin behind it.
    public var seen: Int64?

    /// Memberwise.
    public init(turnID: TurnID, attempt: Int, isRunning: Bool, text: String, seen: Int64? = nil) {
        self.turnID = turnID
        self.attempt = attempt
        self.isRunning = isRunning
        self.text = text
        self.seen = seen
    }
}

/// A turn that was cut by the death of its instance, with all that the checkpoints know.
public struct OrphanedTurn: Sendable, Equatable {
    /// Its user, ids and what was decided; without a checkpoint the domain is abstained and the risk is what the message itself said.
    public var facts: TurnFacts
    /// Text up to the last checkpoint.
    public var content: String
    /// nil: no model had accepted the call at the last checkpoint.
    public var answeredBy: ModelName?
    /// Estimated at the first checkpoint; 0 when it died before.
    public var promptTokens: Int
    /// Milliseconds that it ran until its last sign of life.
    public var durationMilliseconds: Int

    /// Memberwise.
    public init(facts: TurnFacts, content: String, answeredBy: ModelName?, promptTokens: Int, durationMilliseconds: Int) {
        self.facts = facts
        self.content = content
        self.answeredBy = answeredBy
        self.promptTokens = promptTokens
        self.durationMilliseconds = durationMilliseconds
    }
}
