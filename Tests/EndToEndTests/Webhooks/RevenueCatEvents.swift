import Foundation

/// Events as RevenueCat sends them, and the signatures of RevenueCat and Stripe.
enum RevenueCatEvents {
    static let path = "/functions/v1/webhook-revenuecat"
    static let defaultHeader = "X-RevenueCat-Webhook-Signature"
    /// In milliseconds.
    static let month: Int64 = 30 * 86_400_000
    /// Milliseconds since 1970.
    static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    /// The body of an event, which gives a month from now unless changed. `more`: further members.
    static func body(
        _ type: String, _ user: String, at: Int64? = nil, until: Int64? = nil, id: String = UUID().uuidString, _ more: [String: Any] = [:]
    ) throws -> [UInt8] {
        let now = now
        let event: [String: Any] = [
            "type": type, "id": id, "event_timestamp_ms": at ?? now, "app_user_id": user, "aliases": [user], "product_id": "monthly",
            "entitlement_ids": ["pro"], "period_type": "NORMAL", "purchased_at_ms": now, "expiration_at_ms": until ?? now + month,
            "store": "APP_STORE", "environment": "PRODUCTION", "transaction_id": "t-\(user)", "original_transaction_id": "t-\(user)",
        ]
        let root: [String: Any] = ["api_version": "1.0", "event": event.merging(more) { $1 }]
        return Array(try JSONSerialization.data(withJSONObject: root))
    }

    /// A signature header. `secrets`: one `v1` for each; `seconds`: since 1970, now unless given.
    static func signature(_ body: [UInt8], secrets: [String], at seconds: Int64? = nil) -> String {
        let time = "\(seconds ?? now / 1000)"
        let signatures = secrets.map { secret in
            let code = SHA256.hmac(key: Array(secret.utf8), message: Array("\(time).".utf8) + body)
            return ",v1=" + code.map { String(format: "%02x", $0) }.joined()
        }
        return "t=\(time)" + signatures.joined()
    }
}
