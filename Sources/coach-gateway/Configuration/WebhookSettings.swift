import CoachCore
import Foundation
import HTTPEdge
import Identity
import OutboundHTTP
import Webhooks

/// The billing senders' credentials.
struct WebhookSettings: Sendable {
    var revenueCat: BillingSenders.RevenueCat?
    var stripe: BillingSenders.Stripe?
    var appStore: AppStoreNotification?
    var play: GooglePlay?
    var revenueCatAPI: RevenueCatAPI?
    var catalogue: ProductCatalogue
    var foldsStoreEvents: Bool
    var includesSandbox: Bool
    /// Events that an instance stores, on average.
    var eventsPerSecond: Int

    /// Measured on two processors beside chat: `deploy/bench --only webhooks`.
    private static let eventsPerProcessor = 700

    struct GooglePlay: Sendable {
        var audience: String
        var email: String
        /// The key set that verifies push tokens.
        var keys: String
        var package: String?
        /// The key file of the service account, and the API that it opens.
        var serviceAccount: ServiceAccountFile?
        var api: String
    }

    struct RevenueCatAPI: Sendable {
        var key: String
        var url: String
    }

    private enum Flag: String, CaseIterable {
        case yes = "true"
        case no = "false"
    }

    /// Reads the settings; what is wrong becomes a finding of `settings`, also a value that another setting would have to switch on.
    init(_ settings: inout Settings) {
        let credentials = WebhookCredentials(
            authorization: settings.text(.revenueCatAuthorization), secrets: settings.list(.revenueCatSecret))
        let header = settings.text(.revenueCatSignatureHeader) ?? ""
        let revenueCatURL = Self.url(.revenueCatAPI, &settings)
        revenueCatAPI = settings.text(.revenueCatAPIKey).map { RevenueCatAPI(key: $0, url: revenueCatURL) }
        let revenueCat = BillingSenders.RevenueCat(
            credentials: credentials, signatureHeader: header, reconciles: revenueCatAPI != nil)
        if revenueCat == nil { settings.complain(.revenueCatSignatureHeader, "is not a header name") }
        self.revenueCat = credentials.isConfigured ? revenueCat : nil

        catalogue = Self.catalogue(&settings)
        let secrets = settings.list(.stripeSecret)
        stripe = secrets.isEmpty ? nil : BillingSenders.Stripe(signature: WebhookSignature(secrets: secrets), catalogue: catalogue)
        appStore = Self.appStore(&settings, catalogue)
        let (playKeys, playAPI) = (Self.url(.playKeys, &settings), Self.url(.playAPI, &settings))
        let serviceAccount = Self.serviceAccount(&settings)
        switch (settings.text(.playAudience), settings.text(.playEmail)) {
        case (let audience?, let email?):
            play = GooglePlay(
                audience: audience, email: email, keys: playKeys, package: settings.text(.playPackage), serviceAccount: serviceAccount,
                api: playAPI)
        case (nil, nil): break
        case (nil, _): settings.complain(.playAudience, "is needed with \(SettingKey.playEmail.name)")
        case (_, nil): settings.complain(.playEmail, "is needed with \(SettingKey.playAudience.name)")
        }
        eventsPerSecond =
            settings.integer(.webhookRate, in: 1...1_000_000) ?? Self.eventsPerProcessor * ProcessInfo.processInfo.activeProcessorCount
        includesSandbox = settings.choice(.billingSandbox, Flag.self) == .yes
        foldsStoreEvents = settings.choice(.foldStoreEvents, Flag.self).map { $0 == .yes } ?? !credentials.isConfigured
    }

    /// Google's key set, which verifies push tokens; nil without Google Play.
    func googleKeys(_ client: OutboundHTTPClient) throws -> ConfiguredKeySet? {
        try play.map { ConfiguredKeySet(key: .playKeys, source: try .url($0.keys, client: client)) }
    }

    /// - Parameter googleKeys: as loaded; nil without Google Play.
    func senders(googleKeys: KeySet?) -> BillingSenders {
        var senders = BillingSenders(revenueCat: revenueCat, stripe: stripe, appStore: appStore, foldsStoreEvents: foldsStoreEvents)
        guard let play, let keys = googleKeys else { return senders }
        let verifier = PushTokenVerifier(audience: play.audience, email: play.email, keySet: keys)
        senders.play = BillingSenders.GooglePlay(package: play.package, canLookUp: play.serviceAccount != nil) { header, now in
            do throws(TokenRejection) {
                try await verifier.authenticate(header, now: now)
            } catch {
                throw GatewayError(error)
            }
        }
        return senders
    }

    /// nil without an API key.
    func reconciliation(_ client: OutboundHTTPClient, _ inbox: BillingInbox) -> RevenueCatReconciliation? {
        revenueCatAPI.map { RevenueCatReconciliation(key: $0.key, baseURL: $0.url, client: client, inbox: inbox) }
    }

    /// nil without a service account.
    func playPurchases(_ client: OutboundHTTPClient, _ inbox: BillingInbox) -> GooglePlayPurchaseFetcher? {
        guard let play, let file = play.serviceAccount else { return nil }
        let account = ServiceAccount(file: file, scope: GooglePlayPurchaseFetcher.scope, client: client)
        return GooglePlayPurchaseFetcher(baseURL: play.api, client: client, inbox: inbox, catalogue: catalogue) {
            try await account.accessToken()
        }
    }

    /// An address without a final slash.
    private static func url(_ key: SettingKey, _ settings: inout Settings) -> String {
        let text = settings.text(key) ?? ""
        do { try KeySource.check(url: text) } catch { settings.complain(key, "\(error)") }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    private static func serviceAccount(_ settings: inout Settings) -> ServiceAccountFile? {
        guard let path = settings.text(.playServiceAccount) else { return nil }
        guard let file = FileManager.default.contents(atPath: path) else {
            settings.complain(.playServiceAccount, "\(path) cannot be read")
            return nil
        }
        do {
            return try ServiceAccountFile(parsing: [UInt8](file))
        } catch {
            settings.complain(.playServiceAccount, "\(path): \(error)")
            return nil
        }
    }

    /// `product=entitlement`, separated by commas; a product may occur several times.
    private static func catalogue(_ settings: inout Settings) -> ProductCatalogue {
        var entitlements: [String: [String]] = [:]
        for entry in settings.list(.storeProducts) {
            let pair = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, !pair[0].isEmpty, !pair[1].isEmpty else {
                settings.complain(.storeProducts, "\"\(entry)\" is not product=entitlement")
                continue
            }
            entitlements[String(pair[0]), default: []].append(String(pair[1]))
        }
        return ProductCatalogue(entitlements)
    }

    private static func appStore(_ settings: inout Settings, _ catalogue: ProductCatalogue) -> AppStoreNotification? {
        let appID = settings.integer(.appStoreAppID, in: 1...Int.max).map { Int64($0) }
        let bundleID = settings.text(.appStoreBundleID)
        guard let path = settings.text(.appStoreRoot) else {
            if bundleID != nil { settings.complain(.appStoreRoot, "is needed with \(SettingKey.appStoreBundleID.name)") }
            return nil
        }
        guard let root = FileManager.default.contents(atPath: path), let verifier = try? SignedPayloadVerifier(roots: [[UInt8](root)])
        else {
            settings.complain(.appStoreRoot, "\(path) is not a certificate in DER form")
            return nil
        }
        guard let bundleID else { return nil }
        return AppStoreNotification(
            verifier: verifier, policy: AppStorePolicy(bundleID: bundleID, appAppleID: appID, catalogue: catalogue))
    }
}
