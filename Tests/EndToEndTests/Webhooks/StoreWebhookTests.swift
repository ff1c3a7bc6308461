import Foundation
import HTTPTestServers
import JSON
import TestSupport
import Testing
import WebhookTestSupport

@Suite("Webhooks of stores", .paced)
struct StoreWebhookTests {
    private let user = WebhookGateway.newUser()
    private let id = UUID().uuidString.lowercased()

    // MARK: Stripe

    @Test("while RevenueCat is configured an event of Stripe is stored, and changes a subscription only if so configured")
    func stripe() async throws {
        func send(_ id: String, to gateway: WebhookGateway) async throws {
            let seconds = RevenueCatEvents.now / 1000
            let item =
                #"{"current_period_start":\#(seconds),"current_period_end":\#(seconds + 86_400),"price":{"id":"monthly","product":"p"}}"#
            let object =
                #"{"id":"sub_\#(id)","customer":"cus_\#(id)","status":"active","metadata":{"user_id":"\#(user)"},"items":{"data":[\#(item)]}}"#
            let event =
                #"{"id":"\#(id)","object":"event","type":"customer.subscription.updated","created":\#(seconds),"livemode":true,"data":{"object":\#(object)}}"#
            let answer = try await gateway.sendToStripe(Array(event.utf8))
            #expect(answer.status == 200, "\(answer.text)")
        }
        let (second, folding) = (try await WebhookGateway.revenueCat.value, try await WebhookGateway.allStores.value)
        try await send("evt_1_\(id)", to: second)
        let unfolded = try await WebhookGateway.stored("evt_1_\(id)")
        #expect(unfolded.map { $0["status"] } == ["ignored"])
        #expect(unfolded.first?["ignored_reason"] == "another sender is responsible for this store's events")
        #expect(try await second.subscription(of: user)["status"] == "none")
        try await send("evt_2_\(id)", to: folding)
        #expect(try await WebhookGateway.stored("evt_2_\(id)").map { $0["status"] } == ["folded"])
        let subscription = try await folding.subscription(of: user)
        #expect(subscription["status"] == "active" && subscription["entitlement"] == "pro" && subscription["store"] == "stripe")
        #expect(subscription.isNull("management_url"))
    }

    // MARK: App Store

    @Test("a notification of the App Store changes the user's subscription; repeated, it changes nothing")
    func appStore() async throws {
        let (gateway, senders) = (try await WebhookGateway.allStores.value, try await StoreSenders.shared.value)
        let expiry = RevenueCatEvents.now + RevenueCatEvents.month
        let body = senders.apple.body("SUBSCRIBED", id: id, transaction: transaction(["expiresDate": .integer(expiry)]))
        for _ in 0..<2 {
            let answer = try await gateway.post("appstore", body)
            #expect(answer.status == 200 && answer.data.names == [], "\(answer.text)")
        }
        #expect(try await WebhookGateway.stored(id).map { $0["status"] } == ["folded"])
        let bought = try await gateway.subscription(of: user)
        #expect(bought["status"] == "active" && bought["entitlement"] == "pro" && bought["store"] == "app_store")
        #expect(bought.flag("will_renew") == true && bought.flag("active") == true)

        let refundedAt = RevenueCatEvents.now - 1000
        let refund = senders.apple.body(
            "REFUND", id: id + "-2",
            transaction: transaction(["expiresDate": .integer(expiry), "revocationDate": .integer(refundedAt)]))
        #expect(try await gateway.post("appstore", refund).status == 200)
        let refunded = try await gateway.subscription(of: user)
        #expect(refunded["status"] == "refunded" && refunded.flag("active") == false)
    }

    @Test("a notification that another chain signed, of another app, changed or unsigned is 401, and nothing is stored")
    func appStoreForgery() async throws {
        let (gateway, apple) = (try await WebhookGateway.allStores.value, try await StoreSenders.shared.value.apple)
        let transaction = transaction(["expiresDate": .integer(RevenueCatEvents.now + RevenueCatEvents.month)])
        let valid = apple.body("SUBSCRIBED", id: id, transaction: transaction)
        let outdated = SignedNotification(validFrom: 2 * 86_400)
        let stranger: JSONValue = .string(SignedNotification().sign(["originalTransactionId": "1"]))
        let attempts: [[UInt8]] = [
            SignedNotification().body("SUBSCRIBED", id: id, transaction: transaction),
            outdated.body("SUBSCRIBED", id: id, transaction: transaction),
            apple.body("SUBSCRIBED", id: id, transaction: transaction, data: ["signedTransactionInfo": stranger]),
            apple.body("SUBSCRIBED", id: id, transaction: transaction, data: ["bundleId": "com.other"]),
            apple.body("SUBSCRIBED", id: id, transaction: transaction, data: ["appAppleId": 1]),
            valid.dropLast(6) + Array("AAAA\"}".utf8),
            Array(#"{"notificationUUID":"\#(id)","notificationType":"SUBSCRIBED"}"#.utf8), [],
        ]
        let count = "select count(*)::integer as count from gateway.billing_events where source = 'appstore' and event_id like"
        for (index, body) in attempts.enumerated() {
            let answer = try await gateway.post("appstore", body)
            #expect(answer.status == 401 && answer.errorCode == "AUTH_1002", "\(index): \(answer.text)")
        }
        #expect(try await TestBed.shared().database.row("\(count) '\(id)'").number("count") == 0)
        // What makes no sense is stored under the hash of its bytes.
        #expect(try await TestBed.shared().database.row("\(count) 'sha256:%'").number("count") == 0)
        #expect(try await gateway.subscription(of: user)["status"] == "none")
        #expect(try await gateway.post("appstore", valid).status == 200)
        #expect(try await gateway.subscription(of: user)["status"] == "active")
    }

    /// A purchase by this test's user.
    private func transaction(_ changes: [String: JSONValue]) -> [String: JSONValue] {
        [
            "appAccountToken": .string(user.uppercased()), "originalTransactionId": .string("o-" + id), "transactionId": .string("t-" + id),
            "purchaseDate": .integer(RevenueCatEvents.now),
        ].merging(changes) { $1 }
    }

    // MARK: Google Play

    /// The body of a push request.
    private func notice() -> [UInt8] {
        let notice = """
            {"version":"1.0","packageName":"\(StoreSenders.package)","eventTimeMillis":"\(RevenueCatEvents.now)",\
            "subscriptionNotification":{"version":"1.0","notificationType":4,"purchaseToken":"token-\(id)"}}
            """
        let data = Data(notice.utf8).base64EncodedString()
        return Array(#"{"message":{"data":"\#(data)","messageId":"\#(id)"},"subscription":"projects/p/subscriptions/s"}"#.utf8)
    }

    @Test("a push without a token, of another audience, account, key or time is 401, and nothing is stored")
    func playForgery() async throws {
        let (gateway, google) = (try await WebhookGateway.allStores.value, try await StoreSenders.shared.value.google)
        let now = Int(RevenueCatEvents.now / 1000)
        let valid = google.header(at: now)
        let attempts: [String: String?] = [
            "no token": nil, "another key": PushTokens().header(at: now),
            "audience": google.header(["aud": "\"https://coach.example/\""], at: now),
            "account": google.header(["email": "\"other@project.iam.gserviceaccount.com\""], at: now),
            "unverified": google.header(["email_verified": "false"], at: now),
            "issuer": google.header(["iss": "\"https://issuer.example\""], at: now),
            "expired": google.header(at: now - 7200), "cut": String(valid.dropLast(4)) + "AAAA",
            "user": "Bearer " + Token(user: user).text,
        ]
        for (name, header) in attempts {
            let answer = try await gateway.post("play", notice(), header.map { ["Authorization": $0] } ?? [:])
            #expect(answer.status == 401 && answer.errorCode == "AUTH_1002", "\(name): \(answer.text)")
        }
        #expect(try await WebhookGateway.stored(id).isEmpty)
    }

    @Test("a failed load of Google's key set is logged, and pushes are to come again until it is loaded")
    func playKeys() async throws {
        let senders = try await StoreSenders()
        try await senders.api.answer("/certs", status: 503, "")
        let another = try await TestBed.shared().anotherGateway(senders.allStores)
        func failure() -> JSONObject? { another.log.first { $0["job"] == "key set of PLAY_PUSH_KEYS_URL" } }
        try await eventually("the failure in\n\(another.program.output)") { failure() != nil }
        #expect(failure()?["error"] == "the key set's server answered 503")
        let header = senders.google.header(at: Int(RevenueCatEvents.now / 1000))
        func push() async throws -> Answer {
            try await WebhookGateway(gateway: another).post("play", notice(), ["Authorization": header])
        }
        let early = try await push()
        #expect(early.status == 503 && early.errorCode == "SYS_5001" && early.headers["retry-after"] == "5", "\(early.text)")
        try await senders.api.answer("/certs", senders.google.keys)
        try await eventually("an accepted push") { try await push().status == 200 }
        try await eventually("the load") {
            another.log.contains { $0["message"] == "key set loaded" && $0["setting"] == "PLAY_PUSH_KEYS_URL" && $0["kids"] == "google-1" }
        }
    }

    @Test("without a service account a notice of Google Play is stored, and ignored")
    func playWithoutAccount() async throws {
        let (gateway, senders) = (try await WebhookGateway.allStores.value, try await StoreSenders.shared.value)
        let header = senders.google.header(at: Int(RevenueCatEvents.now / 1000))
        for _ in 0..<2 { #expect(try await gateway.post("play", notice(), ["Authorization": header]).status == 200) }
        let stored = try await WebhookGateway.stored(id)
        #expect(stored.map { $0["status"] } == ["ignored"] && stored.first?["ignored_reason"] == "no service account is configured")
        #expect(try await lookUps(senders).isEmpty)
    }

    @Test("with a service account the purchase of a notice is looked up once, and the answer is the user's subscription")
    func playLookUp() async throws {
        let (gateway, senders) = (try await WebhookGateway.playAlone.value, try await StoreSenders.shared.value)
        let expiry = ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: 30 * 86_400))
        try await senders.api.answer(
            lookUp,
            """
            {"subscriptionState":"SUBSCRIPTION_STATE_ACTIVE","startTime":"2026-01-01T00:00:00Z",\
            "externalAccountIdentifiers":{"obfuscatedExternalAccountId":"\(user)"},\
            "lineItems":[{"productId":"monthly","expiryTime":"\(expiry)","autoRenewingPlan":{"autoRenewEnabled":true}}]}
            """)
        let header = senders.google.header(at: Int(RevenueCatEvents.now / 1000))
        for _ in 0..<2 { #expect(try await gateway.post("play", notice(), ["Authorization": header]).status == 200) }
        #expect(try await WebhookGateway.stored(id).map { $0["status"] } == ["queued"])
        // Not over HTTP, where a user's requests are limited.
        try await eventually("the look-up") {
            try await !TestBed.shared().database.rows("select 1 as one from gateway.subscriptions where user_id = '\(user)'").isEmpty
        }
        let subscription = try await gateway.subscription(of: user)
        #expect(subscription["status"] == "active" && subscription["entitlement"] == "pro" && subscription["store"] == "play_store")
        #expect(subscription["management_url"] == "https://play.google.com/store/account/subscriptions")
        #expect(subscription.flag("will_renew") == true)
        let lookUps = try await lookUps(senders)
        #expect(lookUps.map(\.authorization) == ["Bearer access"])
        #expect(lookUps.map(\.method) == ["GET"])
    }

    private var lookUp: String {
        "/androidpublisher/v3/applications/\(StoreSenders.package)/purchases/subscriptionsv2/tokens/token-\(id)"
    }

    private func lookUps(_ senders: StoreSenders) async throws -> [StoreAPI.Request] {
        try await senders.api.requests().filter { $0.path == lookUp }
    }
}
