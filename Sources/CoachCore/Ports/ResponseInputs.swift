/// Port to what turns answer, for the OpenAI-compatible routes.
public struct ResponseInputs: Sendable {
    /// nil for a turn that does not exist or is of another user. Throws `StoreFault`.
    public var input: @Sendable (Caller, TurnID) async throws -> ResponseInput?

    public init(input: @escaping @Sendable (Caller, TurnID) async throws -> ResponseInput?) { self.input = input }
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
