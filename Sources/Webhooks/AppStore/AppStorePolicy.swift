/// The app whose notifications are for this service, and what its products give.
public struct AppStorePolicy: Sendable {
    public var bundleID: String
    /// The app's number, which production notifications carry; nil does not check it.
    public var appAppleID: Int64?
    /// Entitlements of product ids.
    public var catalogue: ProductCatalogue

    public init(bundleID: String, appAppleID: Int64? = nil, catalogue: ProductCatalogue = ProductCatalogue()) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.catalogue = catalogue
    }
}
