/// Port to the turns behind responses of the OpenAI-compatible routes. `CoachStore` implements it on PostgreSQL. Closures throw `StoreFault`.
public struct ResponseRepository: Sendable {
    /// What a turn answers; nil for a turn that does not exist or is of another user.
    public var input: @Sendable (Caller, TurnID) async throws -> ResponseInput?
    /// Removes the texts of a turn that has ended, and its conversation when it has no other turn. False for a turn that does not exist, runs, or
    /// is of another user or of another source.
    public var delete: @Sendable (Caller, TurnID) async throws -> Bool

    public init(
        input: @escaping @Sendable (Caller, TurnID) async throws -> ResponseInput?,
        delete: @escaping @Sendable (Caller, TurnID) async throws -> Bool
    ) {
        self.input = input
        self.delete = delete
    }
}

/// The user's message of a turn.
public struct ResponseInput: Sendable, Equatable {
    public var messageID: MessageID
    public var text: String
    /// The turn is the last one of its conversation that has not failed.
    public var isLatest: Bool
    /// The turn was begun through the OpenAI-compatible routes.
    public var isOfResponse: Bool

    public init(messageID: MessageID, text: String, isLatest: Bool, isOfResponse: Bool) {
        self.messageID = messageID
        self.text = text
        self.isLatest = isLatest
        self.isOfResponse = isOfResponse
    }
}
