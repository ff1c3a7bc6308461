/// Port to the messages that the router decided lately, of all users but the caller. Their text must not leave the gateway. `CoachStore` implements
/// it on PostgreSQL.
public struct RoutedMessages: Sendable {
    /// The newest, at most so many. Throws `StoreFault`, and `NotAllowed` when the caller is not an operator.
    public var newest: @Sendable (Caller, _ atMost: Int) async throws -> [RoutedMessage]

    public init(newest: @escaping @Sendable (Caller, _ atMost: Int) async throws -> [RoutedMessage]) { self.newest = newest }
}
