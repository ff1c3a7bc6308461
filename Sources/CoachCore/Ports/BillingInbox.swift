/// Port to the durable inbox of billing events and what they fold into. `CoachStore` implements it on PostgreSQL. Every closure throws
/// `StoreFault`.
public struct BillingInbox: Sendable {
    /// Stores a delivery and its effect in one transaction. A delivery of a known event changes nothing.
    public var store: @Sendable (BillingDelivery) async throws -> BillingReceipt
    /// The caller's subscription by all that is stored.
    public var subscription: @Sendable (Caller) async throws -> EntitlementTimeline

    public init(
        store: @escaping @Sendable (BillingDelivery) async throws -> BillingReceipt,
        subscription: @escaping @Sendable (Caller) async throws -> EntitlementTimeline
    ) {
        self.store = store
        self.subscription = subscription
    }
}

/// A verified body of a sender.
public struct BillingDelivery: Sendable, Equatable {
    public enum Effect: Sendable, Equatable {
        case event(BillingEvent)
        /// Stored without an effect, with the reason.
        case none(reason: String)
    }

    public var source: BillingSource
    /// Unique within `source`.
    public var id: String
    /// The sender's name for the kind of event.
    public var type: String?
    public var environment: BillingEnvironment
    /// As received.
    public var body: [UInt8]
    public var effect: Effect

    public init(
        source: BillingSource, id: String, type: String?, environment: BillingEnvironment, body: [UInt8], effect: Effect
    ) {
        self.source = source
        self.id = id
        self.type = type
        self.environment = environment
        self.body = body
        self.effect = effect
    }
}

/// What became of a delivery.
public enum BillingReceipt: Sendable, Equatable {
    case stored
    /// An earlier delivery of the event was stored.
    case known
}
