/// One event about a subscriber's purchases, in the form that all senders share.
public struct BillingEvent: Hashable, Sendable {
    public let source: BillingSource
    /// Unique within `source`; the sender repeats it with every delivery of the event.
    public let id: String
    /// When the event occurred by the sender's clock. The time of arrival takes no part in the fold.
    public let occurredAt: BillingInstant
    /// All known ids of the subscriber, the one that the sender names first. Empty for a transfer, which names two subscribers.
    public let subject: [SubscriberID]
    public let change: BillingChange
    /// Order among events with the same instant and the same kind of change; for senders with times in whole seconds.
    public let sequence: UInt8

    public init(
        source: BillingSource, id: String, occurredAt: BillingInstant, subject: [SubscriberID], change: BillingChange, sequence: UInt8 = 0
    ) {
        self.source = source
        self.id = id
        self.occurredAt = occurredAt
        self.subject = subject
        self.change = change
        self.sequence = sequence
    }

    /// The event with other names of subscribers.
    public func renaming(_ names: [SubscriberID: SubscriberID]) -> BillingEvent {
        func renamed(_ ids: [SubscriberID]) -> [SubscriberID] { ids.map { names[$0] ?? $0 } }
        var change = change
        if case .transfer(let from, let to, let store, let environment) = change {
            change = .transfer(from: renamed(from), to: renamed(to), store: store, environment: environment)
        }
        return BillingEvent(
            source: source, id: id, occurredAt: occurredAt, subject: renamed(subject), change: change, sequence: sequence)
    }

    struct Key: Hashable {
        let source: BillingSource
        let id: String
    }

    /// The same for all deliveries of the event.
    var key: Key { Key(source: source, id: id) }

    /// Position in the order in which events are folded. Two deliveries of one event have the same position.
    var position: Position {
        Position(occurredAt: occurredAt, rank: change.rank, sequence: sequence, source: source.rawValue, id: id)
    }

    struct Position: Hashable, Comparable {
        let occurredAt: BillingInstant
        let rank: Int
        let sequence: UInt8
        let source: String
        let id: String

        /// Compares the bytes of texts, because Swift's `<` treats normal forms of a text as equal.
        static func < (a: Self, b: Self) -> Bool {
            if a.occurredAt != b.occurredAt { return a.occurredAt < b.occurredAt }
            if a.rank != b.rank { return a.rank < b.rank }
            if a.sequence != b.sequence { return a.sequence < b.sequence }
            if a.source != b.source { return a.source < b.source }
            return a.id.utf8.lexicographicallyPrecedes(b.id.utf8)
        }
    }
}

/// The sender of a billing event.
public enum BillingSource: String, Hashable, Sendable, CaseIterable {
    case revenuecat, stripe, appstore, play
    /// Manual grants and revocations.
    case `operator`
}

/// Purchases of the two environments never mix.
public enum BillingEnvironment: String, Hashable, Sendable, CaseIterable {
    case production, sandbox
}

/// Where a purchase was made, in lower case as RevenueCat's REST API writes it, such as `app_store`. Unknown stores are kept as they are.
public struct BillingStore: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let appStore = Self(rawValue: "app_store")
    public static let playStore = Self(rawValue: "play_store")
    public static let stripe = Self(rawValue: "stripe")
    /// Not named by the sender.
    public static let unknown = Self(rawValue: "unknown")
    /// Granted by an operator of this gateway.
    public static let manual = Self(rawValue: "manual")

    /// The store's page where its users change and cancel their subscriptions; nil when there is none for all of them.
    public var managementURL: String? {
        switch self {
        case .appStore: "https://apps.apple.com/account/subscriptions"
        case .playStore: "https://play.google.com/store/account/subscriptions"
        default: nil
        }
    }
}

/// An id under which a sender knows a subscriber: the app user id, an alias, or a store's customer or purchase token.
public struct SubscriberID: Hashable, Sendable, CustomStringConvertible {
    public let text: String

    /// A UUID is normalized to lower case, because Apple platforms write it in upper case. nil for an empty text, one of more than 255
    /// bytes, and one with U+0000.
    public init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= 255, !text.utf8.contains(0) else { return nil }
        self.text = UserID(validating: text)?.description ?? text
    }

    public init(_ user: UserID) { text = user.description }

    /// A customer, payment or purchase at a store that reports directly. nil as above.
    public init?(_ source: BillingSource, _ id: String) { self.init("\(source.rawValue):\(id)") }

    /// Whether the id has the form of a store's, which no app may choose as its user's.
    public var isOfStore: Bool { BillingSource.allCases.contains { text.hasPrefix("\($0.rawValue):") } }

    /// The user of this gateway with this id; nil for ids that are not UUIDs, such as anonymous ones.
    public var userID: UserID? { UserID(validating: text) }

    public var description: String { text }
}
