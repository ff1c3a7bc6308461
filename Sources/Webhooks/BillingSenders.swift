import Foundation
import HTTPTypes

/// How the events of each billing sender are verified and read. A sender that is nil is not configured; its route answers 503.
public struct BillingSenders: Sendable {
    public struct RevenueCat: Sendable {
        public var credentials: WebhookCredentials
        /// The header that carries the signature.
        let signatureHeader: HTTPField.Name
        /// Whether each event is followed by a look at the whole subscriber (`RevenueCatReconciliation`).
        public var reconciles: Bool

        /// nil when the text is no header name.
        public init?(credentials: WebhookCredentials, signatureHeader: String, reconciles: Bool) {
            guard let name = HTTPField.Name(signatureHeader) else { return nil }
            self.credentials = credentials
            self.signatureHeader = name
            self.reconciles = reconciles
        }
    }

    public struct Stripe: Sendable {
        public var signature: WebhookSignature
        public var catalogue: ProductCatalogue

        public init(signature: WebhookSignature, catalogue: ProductCatalogue) {
            self.signature = signature
            self.catalogue = catalogue
        }
    }

    public struct GooglePlay: Sendable {
        /// Throws when the `Authorization` header has no valid token of the push subscription's service account, and a `GatewayError` of status 503 when
        /// this cannot be told yet.
        public var authenticate: @Sendable (_ authorization: String?, _ now: Date) async throws -> Void
        /// The app's package; nil accepts any.
        public var package: String?
        /// Whether there is a service account to look purchases up with.
        public var canLookUp: Bool

        public init(
            package: String?, canLookUp: Bool,
            authenticate: @escaping @Sendable (_ authorization: String?, _ now: Date) async throws -> Void
        ) {
            self.package = package
            self.canLookUp = canLookUp
            self.authenticate = authenticate
        }
    }

    public var revenueCat: RevenueCat?
    public var stripe: Stripe?
    public var appStore: AppStoreNotification?
    public var play: GooglePlay?
    /// Whether events that come from a store directly change entitlements. RevenueCat reports the same purchases.
    public var foldsStoreEvents: Bool

    public init(
        revenueCat: RevenueCat? = nil, stripe: Stripe? = nil, appStore: AppStoreNotification? = nil, play: GooglePlay? = nil,
        foldsStoreEvents: Bool
    ) {
        self.revenueCat = revenueCat
        self.stripe = stripe
        self.appStore = appStore
        self.play = play
        self.foldsStoreEvents = foldsStoreEvents
    }
}
