import CoachCore
import Foundation

/// A purchase whose state must be fetched from Google Play, because its notifications carry none. Payload of a job of `GooglePlayPurchaseFetcher`.
public struct GooglePlayLookUp: Hashable, Sendable {
    public let package: String
    public let purchaseToken: String
    /// Whether Google has refunded a payment of it, which only the notification says.
    public let isRefunded: Bool

    public init(package: String, purchaseToken: String, isRefunded: Bool = false) {
        self.package = package
        self.purchaseToken = purchaseToken
        self.isRefunded = isRefunded
    }
}

/// Parses Google Play's real-time developer notifications, pushed by Pub/Sub.
/// <https://developer.android.com/google/play/billing/rtdn-reference>
public enum GooglePlayNotification {
    /// - Parameters:
    ///   - package: the app's package; notifications for another one are ignored.
    ///   - canLookUp: whether a service account is configured.
    public static func parse(_ body: [UInt8], package: String?, canLookUp: Bool) -> IntakeEvent {
        IntakeEvent(.play, body) { (draft: inout IntakeDraft) throws(IgnoredReason) in
            let root = try EventFields(body: body)
            let message = try root.required("message", root.object("message"))
            draft.id = try message.eventID("messageId")
            let data = try message.required("data", message.string("data"))
            guard let bytes = Data(base64Encoded: data) else { throw .invalid("message.data") }
            let notification = try EventFields(body: [UInt8](bytes))
            let lookUp = try read(notification, type: &draft.type)
            if let package, lookUp.package != package { throw .invalid("packageName") }
            return canLookUp ? .lookUp(lookUp) : .ignored(.noServiceAccount)
        }
    }

    private static func read(_ notification: EventFields, type: inout String?) throws(IgnoredReason) -> GooglePlayLookUp {
        let package = try notification.required("packageName", notification.text("packageName"))
        let token: String?
        var isRefunded = false
        if let subscription = try notification.object("subscriptionNotification") {
            type = "subscription:\(try subscription.integer("notificationType") ?? 0)"
            token = try purchaseToken(subscription)
        } else if let voided = try notification.object("voidedPurchaseNotification") {
            type = "voided:\(try voided.integer("productType") ?? 0)"
            // 1: a subscription.
            guard try voided.integer("productType") == 1 else { throw .informational }
            token = try purchaseToken(voided)
            isRefunded = true
        } else if notification["oneTimeProductNotification"] != nil || notification["pendingRefundReviewNotification"] != nil
            || notification["testNotification"] != nil
        {
            throw .informational
        } else {
            throw .unknownType
        }
        return GooglePlayLookUp(package: package, purchaseToken: try notification.required("purchaseToken", token), isRefunded: isRefunded)
    }

    /// Longer than an event's id, and part of a URL.
    private static func purchaseToken(_ notification: EventFields) throws(IgnoredReason) -> String? {
        guard let token = try notification.string("purchaseToken") else { return nil }
        let isPlain = token.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard isPlain, (1...1500).contains(token.utf8.count) else { throw .invalid("purchaseToken") }
        return token
    }
}
