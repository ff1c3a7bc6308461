/// Which entitlements a product of a store gives, for senders that name products only.
public struct ProductCatalogue: Sendable, Equatable {
    private let entitlements: [String: [String]]

    public init(_ entitlements: [String: [String]] = [:]) { self.entitlements = entitlements }

    /// Empty for a product that is not listed: it gives access without a named entitlement.
    func entitlements(of product: String?) -> [String] { product.flatMap { entitlements[$0] } ?? [] }
}
