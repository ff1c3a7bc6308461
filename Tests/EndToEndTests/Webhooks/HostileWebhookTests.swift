import Foundation
import JSON
import Testing
import WebhookTestSupport

/// What a sender may send by mistake, or somebody with its credentials on purpose.
@Suite("Hostile webhooks", .paced)
struct HostileWebhookTests {
    /// Unusual values of a field.
    private static let strange: [String] = [
        "null", "true", "-1", "0", "1e400", "1e20", "-9223372036854775809", "78789789798798", "0.5", #""""#, #""\u0000""#, #""\ud800""#,
        #""x""#, "[]", "[null]", "[1]", "{}", #"{"id":"x"}"#, "\"\(String(repeating: "é", count: 200))\"",
        "\"\(String(repeating: "x", count: 5_000))\"",
    ]

    func revenueCat(_ type: String, _ more: [String: Any] = [:]) throws -> String {
        let body = try RevenueCatEvents.body(type, WebhookGateway.newUser(), more)
        return String(decoding: body, as: UTF8.self)
    }

    /// Sends the bodies, `width` at once. Each must be answered 200 and be stored once, as received.
    func expectStored(
        _ bodies: [[UInt8]], of source: String, width: Int = 8, send: @escaping @Sendable ([UInt8]) async throws -> Answer
    ) async throws {
        try await withThrowingTaskGroup(of: ([UInt8], Answer).self) { group in
            var waiting = 0
            func collect() async throws {
                guard let (sent, answer) = try await group.next() else { return }
                waiting -= 1
                #expect(answer.status == 200, "\(String(decoding: sent.prefix(1_000), as: UTF8.self)): \(answer.text)")
            }
            for body in bodies {
                if waiting == width { try await collect() }
                waiting += 1
                group.addTask { (body, try await send(body)) }
            }
            while waiting > 0 { try await collect() }
        }
        let row = try await TestBed.shared().database.row(
            """
            select coalesce(string_agg(encode(sha256(body), 'hex'), ' '), '') as hashes from gateway.billing_events
            where source = '\(source)' and status in ('folded', 'ignored')
            """)
        var stored: [String: Int] = [:]
        for hash in (row["hashes"] ?? "").split(separator: " ") { stored[String(hash), default: 0] += 1 }
        for body in bodies {
            let hash = SHA256.hash(body).map { String(format: "%02x", $0) }.joined()
            #expect(stored[hash] == 1, "\(String(decoding: body.prefix(1_000), as: UTF8.self))")
        }
    }

    /// A body for each field with each unusual value, and without it. `whole`: a new body each time.
    private func variants(of fields: [String], in whole: () throws -> String) throws -> [[UInt8]] {
        var bodies: [[UInt8]] = []
        for field in fields {
            for value in Self.strange + ["absent"] {
                // A valid id belongs to one body alone.
                let isID = field == "id" || field == "messageId"
                let value = isID && value == #""x""# ? "\"\(UUID().uuidString)\"" : value
                bodies.append(Array(Self.replacing(field, in: try whole(), with: value).utf8))
            }
        }
        return bodies
    }

    @Test("every field of RevenueCat's events with every unusual value, or missing, is answered 200 and stored as received")
    func revenueCatFields() async throws {
        let fields = try JSONObject(Data(revenueCat("RENEWAL").utf8)).object("event").names.sorted()
        var bodies = try variants(of: fields) { try revenueCat("RENEWAL") }
        bodies += try variants(of: ["app_user_id", "environment", "store", "transferred_from", "transferred_to"]) {
            try revenueCat("TRANSFER", ["transferred_from": [UUID().uuidString], "transferred_to": [UUID().uuidString]])
        }
        bodies += try variants(of: ["expiration_at_ms", "grace_period_expiration_at_ms"]) {
            try revenueCat("BILLING_ISSUE", ["grace_period_expiration_at_ms": RevenueCatEvents.now + RevenueCatEvents.month])
        }
        let gateway = try await WebhookGateway.revenueCat.value
        try await expectStored(bodies, of: "revenuecat") { try await gateway.send($0) }
        #expect(try await gateway.gateway.health() == 200)
    }

    @Test("the same of the fields that only some types have, in the documented sample of every type")
    func revenueCatSamples() async throws {
        let fields = [
            "original_app_user_id", "price", "cancel_reason", "expiration_reason", "new_product_id", "auto_resume_at_ms", "entitlement_id",
            "subscriber_attributes",
        ]
        let values = Self.strange.compactMap { try? JSONValue(parsing: Array($0.utf8)) }
        var bodies: [[UInt8]] = []
        for (row, type) in (RevenueCatSample.samples.keys.sorted() + ["INITIAL_PURCHASE"]).enumerated() {
            for (column, field) in fields.enumerated() {
                // All values in an ordinary purchase and where the field belongs to one type; elsewhere a quarter, so that each type has each value.
                let isOwn = RevenueCatSample.samples[type]?[field] != nil && RevenueCatSample.samples.values.count { $0[field] != nil } == 1
                let isWhole = isOwn || type == "INITIAL_PURCHASE"
                for (place, value) in values.enumerated() where isWhole || (row + column + place).isMultiple(of: 4) {
                    // A subscriber of its own, at a valid time, so that the field is reached.
                    let user = JSONValue.string(WebhookGateway.newUser())
                    var changes: [String: JSONValue?] = [
                        "id": .string(UUID().uuidString), "event_timestamp_ms": .integer(RevenueCatEvents.now), "app_user_id": user,
                        "original_app_user_id": user, "aliases": [], "transferred_from": [user], "redeemed_from": [user],
                    ]
                    changes[field] = .some(value)
                    bodies.append(RevenueCatSample.body(type, changes))
                }
            }
        }
        let gateway = try await WebhookGateway.revenueCat.value
        try await expectStored(bodies, of: "revenuecat") { try await gateway.send($0) }
        #expect(try await gateway.gateway.health() == 200)
    }

    @Test("the same of Stripe's events")
    func stripeFields() async throws {
        let base =
            #"{"id":"%ID%","object":"event","type":"customer.subscription.updated","created":1767225600,"livemode":true,"data":{"object":{"id":"sub_%ID%","customer":"cus_%ID%","status":"active","metadata":{"user_id":"x"},"cancel_at":null,"items":{"data":[{"current_period_start":1767225600,"current_period_end":1769817600,"price":{"id":"p","product":"q"}}]}}}}"#
        let fields = base.matches(of: /"([a-z_]+)":/).map { String($0.1) }
        let bodies = try variants(of: Set(fields).sorted()) { base.replacing("%ID%", with: UUID().uuidString) }
        let gateway = try await WebhookGateway.allStores.value
        try await expectStored(bodies, of: "stripe") { try await gateway.sendToStripe($0) }
        #expect(try await gateway.gateway.health() == 200)
    }

    @Test("the same of Google Play's notices")
    func playFields() async throws {
        func push(_ notice: String) -> String {
            let data = Data(notice.utf8).base64EncodedString()
            return #"{"message":{"data":"\#(data)","messageId":"\#(UUID().uuidString)"},"subscription":"projects/p/subscriptions/s"}"#
        }
        let notice =
            #"{"version":"1.0","packageName":"\#(StoreSenders.package)","subscriptionNotification":{"notificationType":4,"purchaseToken":"token"}}"#
        var bodies = try variants(of: ["data", "message", "messageId"]) { push(notice) }
        for field in ["notificationType", "packageName", "purchaseToken", "subscriptionNotification"] {
            for value in Self.strange + ["absent"] { bodies.append(Array(push(Self.replacing(field, in: notice, with: value)).utf8)) }
        }
        let gateway = try await WebhookGateway.allStores.value
        let header = try await StoreSenders.shared.value.google.header(at: Int(RevenueCatEvents.now / 1000))
        try await expectStored(bodies, of: "play") { try await gateway.post("play", $0, ["Authorization": header]) }
        #expect(try await gateway.gateway.health() == 200)
    }

    @Test("the same of the App Store's transactions")
    func appStoreFields() async throws {
        let (gateway, apple) = (try await WebhookGateway.allStores.value, try await StoreSenders.shared.value.apple)
        let fields = [
            "appAccountToken", "bundleId", "expiresDate", "offerDiscountType", "originalTransactionId", "price", "productId",
            "purchaseDate", "transactionId", "type",
        ]
        let values = Self.strange.compactMap { try? JSONValue(parsing: Array($0.utf8)) }
        var bodies: [[UInt8]] = []
        for field in fields {
            for value in values {
                var transaction: [String: JSONValue] = [
                    "appAccountToken": .string(WebhookGateway.newUser()), "originalTransactionId": .string(UUID().uuidString),
                ]
                transaction[field] = value
                bodies.append(apple.body("SUBSCRIBED", id: UUID().uuidString, transaction: transaction))
            }
        }
        try await expectStored(bodies, of: "appstore") { try await gateway.post("appstore", $0) }
        #expect(try await gateway.gateway.health() == 200)
    }

    @Test("every event type, and invalid encodings up to 256 KiB, are answered 200 and stored once, also when repeated")
    func bodies() async throws {
        let types = [
            "TEST", "TRANSFER", "SUBSCRIBER_ALIAS", "INVOICE_ISSUANCE", "VIRTUAL_CURRENCY_TRANSACTION", "EXPERIMENT_ENROLLMENT",
            "PURCHASE_REDEEMED", "PAYWALL_CLOSE", "NON_RENEWING_PURCHASE", "PRODUCT_CHANGE", "REFUND_REVERSED", "💥", "renewal",
        ]
        func bytes(_ type: String, _ more: [String: Any] = [:]) throws -> [UInt8] { Array(try revenueCat(type, more).utf8) }
        var bodies = try types.map { try bytes($0, ["transferred_from": ["a"], "transferred_to": [WebhookGateway.newUser()]]) }
        bodies.append(try bytes("RENEWAL", ["subscriber_attributes": ["x": String(repeating: "y", count: 250_000)]]))
        let valid = try bytes("RENEWAL")
        bodies += [
            Array("\u{FEFF}".utf8) + valid, valid.flatMap { [$0, 0] }, valid.dropLast(), valid + valid, valid + [0],
            valid.map { $0 == UInt8(ascii: "T") ? 0xC0 : $0 }, Array(repeating: UInt8(ascii: " "), count: 262_144),
            Array((String(repeating: #"{"event":"#, count: 20_000) + "1").utf8),
            Array(#"{"event":{"id":"\#(String(repeating: "x", count: 262_100))""#.utf8),
        ]
        let gateway = try await WebhookGateway.revenueCat.value
        for _ in 0..<2 {
            try await expectStored(bodies, of: "revenuecat", width: 1) { try await gateway.send($0) }
        }
    }

    private static func replacing(_ field: String, in body: String, with value: String) -> String {
        // A field's value: a string, a number, or an array or object without nested ones.
        guard let found = body.range(of: #""\#(field)":"#),
            let rest = try? /("[^"]*"|[-0-9]+|true|null|\[[^\]]*\]|\{.*\})/.prefixMatch(in: body[found.upperBound...])
        else { return body }
        return value == "absent"
            ? body.replacingCharacters(in: found.lowerBound..<rest.range.upperBound, with: #""other":1"#)
            : body.replacingCharacters(in: rest.range, with: value)
    }
}
