import CoachCore
import Foundation

/// A purchase that must be looked up at Google Play, because its notices carry no state.
public struct PlayLookUp: Hashable, Sendable {
    public let package: String
    public let purchaseToken: String
    /// Whether Google has refunded a payment of it, which only the notice says.
    public let isRefunded: Bool

    public init(package: String, purchaseToken: String, isRefunded: Bool = false) {
        self.package = package
        self.purchaseToken = purchaseToken
        self.isRefunded = isRefunded
    }
}

/// Parses Google Play's real-time developer notifications, pushed by Pub/Sub (facts: store webhooks §2).
public enum PlayNotice {
    /// - Parameters:
    ///   - package: the app's package; notices for another one are ignored.
    ///   - canLookUp: whether a service account is configured.
    public static func parse(_ body: [UInt8], package: String?, canLookUp: Bool) -> IntakeEvent {
        IntakeEvent(.play, body) { (draft: inout IntakeDraft) throws(IgnoredReason) in
            let root = try EventFields(body: body)
            let message = try root.required("message", root.object("message"))
            draft.id = try message.eventID("messageId")
            let data = try message.required("data", message.string("data"))
            guard let bytes = Data(base64Encoded: data) else { throw .invalid("message.data") }
            let notice = try EventFields(body: [UInt8](bytes))
            let lookUp = try read(notice, type: &draft.type)
            if let package, lookUp.package != package { throw .invalid("packageName") }
            return canLookUp ? .lookUp(lookUp) : .ignored(.noServiceAccount)
        }
    }

    private static func read(_ notice: EventFields, type: inout String?) throws(IgnoredReason) -> PlayLookUp {
        let package = try notice.required("packageName", notice.text("packageName"))
        let token: String?
        var isRefunded = false
        if let subscription = try notice.object("subscriptionNotification") {
            type = "subscription:\(try subscription.integer("notificationType") ?? 0)"
            token = try purchaseToken(subscription)
        } else if let voided = try notice.object("voidedPurchaseNotification") {
            type = "voided:\(try voided.integer("productType") ?? 0)"
            // 1: a subscription.
            guard try voided.integer("productType") == 1 else { throw .informational }
            token = try purchaseToken(voided)
            isRefunded = true
        } else if notice["oneTimeProductNotification"] != nil || notice["pendingRefundReviewNotification"] != nil
            || notice["testNotification"] != nil
        {
            throw .informational
        } else {
            throw .unknownType
        }
        return PlayLookUp(package: package, purchaseToken: try notice.required("purchaseToken", token), isRefunded: isRefunded)
    }

    /// Longer than an event's id, and part of a URL.
    private static func purchaseToken(_ notice: EventFields) throws(IgnoredReason) -> String? {
        guard let token = try notice.string("purchaseToken") else { return nil }
        let isPlain = token.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard isPlain, (1...1500).contains(token.utf8.count) else { throw .invalid("purchaseToken") }
        return token
    }
}
