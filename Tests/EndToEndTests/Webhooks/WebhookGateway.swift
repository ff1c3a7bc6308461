import Foundation
import HTTPTestServers
import TestSupport
import WebhookTestSupport

/// A gateway that takes webhooks in, on the testBed's database. One for each configuration.
struct WebhookGateway: Sendable {
    static let authorization = "Bearer webhook-password"
    static let secret = "webhook-signing-secret"
    static let stripeSecret = "whsec_test"

    let gateway: Gateway

    /// RevenueCat with both authentications, and Stripe beside it.
    static let revenueCat = Task {
        WebhookGateway(
            gateway: try await TestBed.shared().anotherGateway([
                "REVENUECAT_WEBHOOK_AUTH": authorization, "REVENUECAT_WEBHOOK_HMAC_SECRET": "old-secret, \(secret)",
                "STRIPE_WEBHOOK_SECRET": stripeSecret,
            ]))
    }

    /// A request that has both of RevenueCat's credentials, unless other headers are given.
    func send(_ body: [UInt8], headers: [String: String]? = nil) async throws -> Answer {
        let signed = [
            "Authorization": Self.authorization,
            RevenueCatEvents.defaultHeader: RevenueCatEvents.signature(body, secrets: [Self.secret]),
        ]
        return try await post("revenuecat", body, headers ?? signed)
    }

    func sendToStripe(_ body: [UInt8]) async throws -> Answer {
        try await post("stripe", body, ["Stripe-Signature": RevenueCatEvents.signature(body, secrets: [Self.stripeSecret])])
    }

    func post(_ name: String, _ body: [UInt8], _ headers: [String: String] = [:]) async throws -> Answer {
        try await Browser(port: gateway.port).send("POST", "/functions/v1/webhook-\(name)", body: body, headers: headers)
    }

    /// `GET /api/v1/me/subscription`.
    func subscription(of user: String) async throws -> JSONObject {
        let answer = try await TestUser(gateway: gateway, id: user).browser.send("GET", "/api/v1/me/subscription")
        guard answer.status == 200 else { throw Program.Failure(description: "\(answer.status): \(answer.text)") }
        return answer.data
    }

    /// The rows of `gateway.billing_events` with an id.
    static func stored(_ id: String) async throws -> [JSONObject] {
        try await TestBed.shared().database.rows(
            "select source, status, ignored_reason, encode(body, 'hex') as body from gateway.billing_events where event_id = '\(id)'")
    }

    static func newUser() -> String { UUID().uuidString.lowercased() }
}

/// The stores' signers, and one stand-in for all of Google's servers.
struct StoreSenders: Sendable {
    static let package = "com.example.coach"

    let apple: SignedNotification
    let google = PushTokens()
    let api: StoreAPI
    private let folder: Folder

    init() async throws {
        (apple, api, folder) = (SignedNotification(), try StoreAPI(), try Folder())
        try Data(apple.root).write(to: URL(filePath: root))
        try await api.answer("/certs", google.keys)
        try await api.answer("/token", #"{"access_token":"access","expires_in":3600}"#)
        let key = try ChildProcess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"])
        let account = [
            "client_email": "billing@example.iam", "private_key_id": "k1", "private_key": key, "token_uri": api.url + "/token",
        ]
        try JSONSerialization.data(withJSONObject: account).write(to: URL(filePath: serviceAccount))
    }

    private var root: String { folder.path + "/root.der" }
    private var serviceAccount: String { folder.path + "/account.json" }

    /// All stores beside RevenueCat, whose signature has another header; direct events are folded, as configured. No service account.
    var allStores: [String: String] {
        [
            "REVENUECAT_WEBHOOK_HMAC_SECRET": "old-secret,\(WebhookGateway.secret)",
            "REVENUECAT_WEBHOOK_SIGNATURE_HEADER": "X-Coach-Signature",
            "STRIPE_WEBHOOK_SECRET": WebhookGateway.stripeSecret, "COACH_FOLD_STORE_EVENTS": "true",
            "APPSTORE_BUNDLE_ID": Self.package, "APPSTORE_APP_ID": "1234567890", "APPSTORE_ROOT_CERTIFICATE": root,
        ].merging(push) { $1 }
    }

    /// Google Play alone, with a service account.
    var playAlone: [String: String] {
        ["PLAY_SERVICE_ACCOUNT": serviceAccount, "PLAY_API_URL": api.url].merging(push) { $1 }
    }

    private var push: [String: String] {
        [
            "PLAY_PUSH_AUDIENCE": PushTokens.audience, "PLAY_PUSH_EMAIL": PushTokens.email, "PLAY_PUSH_KEYS_URL": api.url + "/certs",
            "PLAY_PACKAGE": Self.package, "COACH_STORE_PRODUCTS": "monthly=pro",
        ]
    }

    static let shared = Task { try await StoreSenders() }
}

extension WebhookGateway {
    static let allStores = Task {
        WebhookGateway(gateway: try await TestBed.shared().anotherGateway(try await StoreSenders.shared.value.allStores))
    }
    static let playAlone = Task {
        WebhookGateway(gateway: try await TestBed.shared().anotherGateway(try await StoreSenders.shared.value.playAlone))
    }
}
