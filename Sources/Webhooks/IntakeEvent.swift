import CoachCore
import JSON
import OpenSSLCrypto

/// What a parser found in a verified webhook body. `WebhookRoutes` makes the `BillingDelivery` of it that the inbox stores.
public struct IntakeEvent: Hashable, Sendable {
    public enum Outcome: Hashable, Sendable {
        /// Changes an entitlement.
        case event(BillingEvent)
        /// Carries no state; the purchase must be looked up at the store.
        case lookUp(GooglePlayLookUp)
        /// Stored and answered 200, because a retry cannot help.
        case ignored(IgnoredReason)
    }

    public let source: BillingSource
    /// Unique within `source`, the same for every delivery. For a body without a usable id the hash of its bytes.
    public let id: String
    /// The sender's name for the kind of event; nil when the body names none.
    public let type: String?
    public let environment: BillingEnvironment
    /// What was paid, negative for a refund; nil when the event names no price in US dollars.
    public let price: Nanodollars?
    public let outcome: Outcome
    /// One id of each subscriber at RevenueCat whose purchases the event may have changed, also when it is ignored.
    public let reconciled: [SubscriberID]
    /// The users and customers that the body and its encoded parts name, and other UUIDs in them.
    public let names: Set<SubscriberID>

    /// Runs a parser; what it throws is the reason to store the event without an effect.
    /// - Parameter decoded: what the body holds in an encoding, such as the payloads of signatures.
    init(
        _ source: BillingSource, _ body: [UInt8], decoded: [JSONValue] = [],
        _ parse: (inout IntakeDraft) throws(IgnoredReason) -> Outcome
    ) {
        var draft = IntakeDraft()
        do throws(IgnoredReason) {
            outcome = try parse(&draft)
        } catch {
            outcome = .ignored(error)
        }
        self.source = source
        id = draft.id ?? Self.contentID(body)
        (type, environment, price, reconciled) = (draft.type, draft.environment, draft.price, draft.reconciled)
        names = decoded.reduce(into: SubscriberID.all(in: body)) { names, part in names.formUnion(SubscriberID.all(in: part.bytes)) }
    }

    /// The fallback id of a body: 64 hexadecimal digits after `sha256:`.
    static func contentID(_ body: [UInt8]) -> String {
        "sha256:" + Hexadecimal.encode(SHA256.hash(body))
    }
}

/// The fields of an event as its parser finds them. Those found before a reason to ignore the event are stored with it.
struct IntakeDraft {
    var id: String?
    var type: String?
    var environment = BillingEnvironment.production
    var price: Nanodollars?
    var reconciled: [SubscriberID] = []
}

/// Why an event has no effect. Webhooks and answers of Google Play are stored with it; an answer of RevenueCat is not stored, and its job fails.
public enum IgnoredReason: Error, Hashable, Sendable, CustomStringConvertible {
    /// Not UTF-8, not JSON, or not an object with the sender's outline.
    case notUnderstood
    /// Absent or null.
    case missing(String)
    /// A field of the wrong type or out of range.
    case invalid(String)
    /// A type that the gateway does not know.
    case unknownType
    /// An event that does not affect entitlements, by its type or its content, such as a partial refund.
    case informational
    /// A purchase that gives no entitlement.
    case consumable
    /// The gateway has no credentials to look the purchase up.
    case noServiceAccount
    /// Another sender is responsible for this store's events.
    case otherSender

    public var description: String {
        switch self {
        case .notUnderstood: "the body is not JSON of the expected form"
        case .missing(let field): "\(field) is missing"
        case .invalid(let field): "\(field) is of the wrong type or out of range"
        case .unknownType: "the type is not known"
        case .informational: "the event does not affect entitlements"
        case .consumable: "the purchase gives no entitlement"
        case .noServiceAccount: "no service account is configured"
        case .otherSender: "another sender is responsible for this store's events"
        }
    }
}
