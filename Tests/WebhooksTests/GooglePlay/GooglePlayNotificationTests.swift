import CoachCore
import Foundation
import JSON
import Testing

@testable import Webhooks

@Suite("Google Play notifications")
struct GooglePlayNotificationTests {
    private func notification(_ kind: String, _ content: JSONValue) -> [UInt8] {
        let notification = JSONValue.object([
            JSONMember("version", "1.0"), JSONMember("packageName", "com.example.coach"), JSONMember("eventTimeMillis", "1700000000000"),
            JSONMember(kind, content),
        ])
        let message: JSONValue = ["data": .string(Data(notification.bytes).base64EncodedString()), "messageId": "136969346945"]
        return (["message": message, "subscription": "projects/p/subscriptions/s"] as JSONValue).bytes
    }

    private func parse(_ body: [UInt8], canLookUp: Bool = true) -> IntakeEvent {
        GooglePlayNotification.parse(body, package: "com.example.coach", canLookUp: canLookUp)
    }

    @Test("a subscription notification causes a look-up of its purchase")
    func subscription() {
        let intake = parse(notification("subscriptionNotification", ["notificationType": 2, "purchaseToken": "abc.def"]))
        #expect(intake.outcome == .lookUp(GooglePlayLookUp(package: "com.example.coach", purchaseToken: "abc.def")))
        #expect(intake.id == "136969346945" && intake.type == "subscription:2")
    }

    @Test("a voided subscription is looked up as refunded, a voided product is not looked up")
    func voided() {
        let subscription = parse(notification("voidedPurchaseNotification", ["purchaseToken": "t", "productType": 1, "refundType": 1]))
        #expect(subscription.outcome == .lookUp(GooglePlayLookUp(package: "com.example.coach", purchaseToken: "t", isRefunded: true)))
        let product = parse(notification("voidedPurchaseNotification", ["purchaseToken": "t", "productType": 2]))
        #expect(product.outcome == .ignored(.informational))
    }

    @Test("notifications without a service account, for another app, or without effect are ignored")
    func ignored() {
        let subscription = notification("subscriptionNotification", ["notificationType": 2, "purchaseToken": "t"])
        #expect(parse(subscription, canLookUp: false).outcome == .ignored(.noServiceAccount))
        #expect(GooglePlayNotification.parse(subscription, package: "other", canLookUp: true).outcome == .ignored(.invalid("packageName")))
        #expect(parse(notification("testNotification", ["version": "1.0"])).outcome == .ignored(.informational))
        #expect(parse(notification("oneTimeProductNotification", [:])).outcome == .ignored(.informational))
        #expect(parse(notification("somethingNew", [:])).outcome == .ignored(.unknownType))
        #expect(parse(notification("subscriptionNotification", ["notificationType": 2])).outcome == .ignored(.missing("purchaseToken")))
        #expect(parse(notification("subscriptionNotification", ["purchaseToken": "../x y"])).outcome == .ignored(.invalid("purchaseToken")))
        #expect(parse(Array("{}".utf8)).outcome == .ignored(.missing("message")))
        #expect(parse(Array(#"{"message":{"messageId":"1","data":"%%"}}"#.utf8)).outcome == .ignored(.invalid("message.data")))
    }
}
