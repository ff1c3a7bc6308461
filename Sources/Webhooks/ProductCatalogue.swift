/// Which entitlements a product of a store gives, for senders that name products only.
public struct ProductCatalogue: Sendable, Equatable {
    private let entitlements: [String: [String]]

    public init(_ entitlements: [String: [String]] = [:]) { self.entitlements = entitlements }

    /// By a product's id, or Stripe's id of a price. Empty for one that is not listed: its subscription gives access without a named entitlement. A
    /// purchase in the App Store that is none and never ends gives nothing then.
    func entitlements(of product: String?) -> [String] { product.flatMap { entitlements[$0] } ?? [] }
}
