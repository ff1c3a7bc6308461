/// Port that removes single turns of conversations that began through the OpenAI-compatible routes.
public struct ResponseRemoval: Sendable {
    /// Removes the texts of a turn that has ended, and its conversation when it has no other turn. False for a turn that does not exist, runs, or
    /// is of another user or of another source. Throws `StoreFault`.
    public var delete: @Sendable (Caller, TurnID) async throws -> Bool

    public init(delete: @escaping @Sendable (Caller, TurnID) async throws -> Bool) { self.delete = delete }
}
