/// Port to the durable inbox of billing events and what they fold into. `CoachStore` implements it on PostgreSQL. Every closure throws
/// `StoreFault`.
public struct BillingInbox: Sendable {
    /// Stores a delivery and its effect in one transaction. A delivery of a known event changes nothing.
    public var store: @Sendable (BillingDelivery) async throws -> BillingReceipt
    /// The caller's subscription by all that is stored.
    public var subscription: @Sendable (Caller) async throws -> EntitlementTimeline
    /// Users whose access ended or will end within this time, or was ended by an event within twice of it, and whose purchases RevenueCat knows. A user
    /// may be on several pages, and a page that is not the last may have fewer than `limit` users, or none. Throws `InvalidCursor`, too.
    public var expiring: @Sendable (_ within: Duration, _ cursor: String?, _ limit: Int) async throws -> Page<UserID>

    public init(
        store: @escaping @Sendable (BillingDelivery) async throws -> BillingReceipt,
        subscription: @escaping @Sendable (Caller) async throws -> EntitlementTimeline,
        expiring: @escaping @Sendable (_ within: Duration, _ cursor: String?, _ limit: Int) async throws -> Page<UserID>
    ) {
        self.store = store
        self.subscription = subscription
        self.expiring = expiring
    }
}

/// A verified body of a sender.
public struct BillingDelivery: Sendable, Equatable {
    public enum Effect: Sendable, Equatable {
        case event(BillingEvent)
        /// The body has no state: a job asks the store for it.
        case lookUp(NewJob)
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
    /// All UUIDs and customers in the body, also in its encoded parts. A body without effect that names a removed user is not stored.
    public var names: Set<SubscriberID>
    public var effect: Effect
    /// For operators' figures; nil when the event names no price in US dollars.
    public var price: Nanodollars?
    /// Enqueued in the same transaction, if the event is new.
    public var followUp: [NewJob]

    public init(
        source: BillingSource, id: String, type: String?, environment: BillingEnvironment, body: [UInt8], names: Set<SubscriberID> = [],
        effect: Effect, price: Nanodollars? = nil, followUp: [NewJob] = []
    ) {
        self.source = source
        self.id = id
        self.type = type
        self.environment = environment
        self.body = body
        self.names = names
        self.effect = effect
        self.price = price
        self.followUp = followUp
    }
}

/// What became of a delivery.
public enum BillingReceipt: Sendable, Equatable {
    case stored
    /// An earlier delivery of the event was stored.
    case known
}
