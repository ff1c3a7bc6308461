import Foundation
import TestSupport

/// A year of one generated subscriber, as RevenueCat reports it: the bodies in the order of their events, and how it ends.
struct SubscriberYear {
    /// Every id that is a user's, with the status that the year's events leave them with: the fold's result by other means.
    private(set) var endings: [String: String] = [:]
    private(set) var bodies: [[UInt8]] = []

    private static let day: Int64 = 86_400_000
    private static let month = 30 * day

    private var random: SeededGenerator
    private let end: Int64
    private var user: String
    private var aliases: [String]
    private let purchase: String
    private var product = "monthly"
    private var transaction = 0
    private var periodStart: Int64 = 0
    private var expiry: Int64 = 0
    private var status = "none"

    /// `end`: milliseconds; the year is the one before.
    init(seed: UInt64, end: Int64) {
        // Not the seed itself: the generators of neighbouring seeds would give the same numbers, one draw apart.
        var seeds = SeededGenerator(state: seed)
        random = SeededGenerator(state: seeds.next())
        self.end = end
        user = Self.newUser(&random)
        aliases = [user]
        purchase = "o-\(seed)"
        if chance(4) { aliases.append("$RCAnonymousID:\(seed)-\(user)") }
        live(from: end - 365 * Self.day + Int64.random(in: 0..<60, using: &random) * Self.day)
        endings[user] = bodies.count == 1 && aliases.count > 1 ? "none" : status
    }

    private static func newUser(_ random: inout SeededGenerator) -> String {
        let bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }.uuidString.lowercased()
    }

    private mutating func chance(_ of: Int) -> Bool { Int.random(in: 0..<of, using: &random) == 0 }

    // MARK: Events

    private mutating func live(from start: Int64) {
        var isRunning = begin(at: start)
        while isRunning, expiry <= end { isRunning = month() }
    }

    /// False when nothing follows; so do the other steps.
    private mutating func begin(at start: Int64) -> Bool {
        guard chance(2) else { return period("INITIAL_PURCHASE", at: start, days: 30) }
        guard period("INITIAL_PURCHASE", at: start, days: 7, ["period_type": "TRIAL", "price": 0]) else { return false }
        status = "trial"
        guard chance(4) else { return period("RENEWAL", at: expiry, days: 30, ["is_trial_conversion": true]) }
        return emit("CANCELLATION", at: start + Self.day, ["cancel_reason": "UNSUBSCRIBE"], leaving: "trial") && expire()
    }

    /// One paid period, from within it to the next.
    private mutating func month() -> Bool {
        let middle = periodStart + (expiry - periodStart) / 2
        switch Int.random(in: 0..<24, using: &random) {
        case 0: return cancel(at: middle)
        case 1, 2: return failToPay()
        case 3:
            guard
                emit(
                    "CANCELLATION", at: middle, ["cancel_reason": "CUSTOMER_SUPPORT", "price": -9.99, "expiration_at_ms": middle],
                    leaving: "refunded")
            else { return false }
            _ = emit("EXPIRATION", at: middle, ["expiration_at_ms": middle, "expiration_reason": "CUSTOMER_SUPPORT"], leaving: "refunded")
            return false
        case 4:
            return emit("SUBSCRIPTION_PAUSED", at: middle, leaving: "active")
                && emit("EXPIRATION", at: expiry, ["expiration_reason": "SUBSCRIPTION_PAUSED"], leaving: "paused")
                && period("RENEWAL", at: expiry + Self.month, days: 30)
        case 5:
            let next = product == "monthly" ? "yearly" : "monthly"
            guard emit("PRODUCT_CHANGE", at: middle, ["new_product_id": next], leaving: status) else { return false }
            product = next
            return period("RENEWAL", at: expiry, days: next == "yearly" ? 365 : 30)
        case 6:
            guard middle <= end else { return false }
            expiry += 7 * Self.day
            return emit("SUBSCRIPTION_EXTENDED", at: middle, leaving: "active") && (expiry > end || period("RENEWAL", at: expiry, days: 30))
        case 7: return transfer(at: middle) && period("RENEWAL", at: expiry, days: 30)
        case 8:
            guard middle <= end else { return false }
            bodies.append(
                body(
                    "INITIAL_PURCHASE", at: middle,
                    ["environment": "SANDBOX", "original_transaction_id": "s-\(purchase)", "transaction_id": "s-\(purchase)"]))
            return period("RENEWAL", at: expiry, days: 30)
        default: return period("RENEWAL", at: expiry, days: product == "yearly" ? 365 : 30)
        }
    }

    private mutating func cancel(at instant: Int64) -> Bool {
        guard emit("CANCELLATION", at: instant, ["cancel_reason": "UNSUBSCRIBE"], leaving: "cancelled") else { return false }
        if chance(2) {
            return emit("UNCANCELLATION", at: instant + Self.day, leaving: "active") && period("RENEWAL", at: expiry, days: 30)
        }
        return expire() && chance(2) && period("RENEWAL", at: expiry + 20 * Self.day, days: 30)
    }

    /// RevenueCat sends the issue and the cancellation at one instant, and the expiration at the end of the grace period.
    private mutating func failToPay() -> Bool {
        let (due, grace) = (expiry, expiry + 7 * Self.day)
        guard emit("BILLING_ISSUE", at: due, ["grace_period_expiration_at_ms": grace], leaving: "grace"),
            emit("CANCELLATION", at: due, ["cancel_reason": "BILLING_ERROR"], leaving: "grace")
        else { return false }
        if !chance(3) { return period("RENEWAL", at: due + 3 * Self.day, days: 30) }
        _ = emit("EXPIRATION", at: grace, ["expiration_reason": "BILLING_ERROR"], leaving: "expired")
        return false
    }

    private mutating func transfer(at instant: Int64) -> Bool {
        guard instant <= end else { return false }
        let receiver = Self.newUser(&random)
        bodies.append(body("TRANSFER", at: instant, ["transferred_from": aliases, "transferred_to": [receiver]], isTransfer: true))
        endings[user] = "none"
        user = receiver
        aliases = [receiver]
        return true
    }

    private mutating func expire() -> Bool { emit("EXPIRATION", at: expiry, ["expiration_reason": "UNSUBSCRIBE"], leaving: "expired") }

    // MARK: Events

    private mutating func period(_ type: String, at start: Int64, days: Int64, _ more: [String: Any] = [:]) -> Bool {
        guard start <= end else { return false }
        transaction += 1
        (periodStart, expiry) = (start, start + days * Self.day)
        return emit(type, at: start, more, leaving: "active")
    }

    /// Adds an event; false, without one, after the end of the year.
    private mutating func emit(_ type: String, at instant: Int64, _ more: [String: Any] = [:], leaving status: String) -> Bool {
        guard instant <= end else { return false }
        bodies.append(body(type, at: instant, more))
        self.status = status
        return true
    }

    private mutating func body(_ type: String, at instant: Int64, _ more: [String: Any], isTransfer: Bool = false) -> [UInt8] {
        var event: [String: Any] = [
            "type": type, "id": "\(purchase)-\(bodies.count)", "event_timestamp_ms": instant, "store": "APP_STORE",
            "environment": "PRODUCTION",
        ]
        if !isTransfer {
            event.merge([
                // The app sends the anonymous id before the login, and later both.
                "app_user_id": bodies.isEmpty ? aliases.last ?? user : user, "aliases": bodies.isEmpty ? [] : aliases,
                "product_id": product, "entitlement_ids": ["pro"], "period_type": "NORMAL", "purchased_at_ms": periodStart,
                "expiration_at_ms": expiry, "transaction_id": "\(purchase)-t\(transaction)", "original_transaction_id": purchase,
                "price": 9.99,
            ]) { $1 }
        }
        event.merge(more) { $1 }
        return (try? JSONSerialization.data(withJSONObject: ["api_version": "1.0", "event": event])).map(Array.init) ?? []
    }
}
