import CoachCore
import Foundation
import JSON

/// Reads App Store Server Notifications V2: verifies the outer payload and the transaction and renewal information inside.
public struct AppStoreNotification: Sendable {
    private let verifier: SignedPayloadVerifier
    private let policy: AppStorePolicy

    public init(verifier: SignedPayloadVerifier, policy: AppStorePolicy) {
        self.verifier = verifier
        self.policy = policy
    }

    /// Throws when the body is not Apple's notification for this app; nothing of it may be stored then.
    public func parse(_ body: [UInt8], now: Date) throws(SignedPayloadVerifier.Rejection) -> IntakeEvent {
        guard let signed = (try? JSONDocument(parsing: body))?.value["signedPayload"]?.string else { throw .malformed }
        var decoded = [try verifier.payload(of: signed, now: now)]
        let payload = EventFields(decoded[0])
        let data = try? payload.object("data")
        let environment = try environment(payload, data ?? (try? payload.object("summary")))
        var content = AppStoreContent(policy: policy, environment: environment)
        for (key, path) in [("signedTransactionInfo", \AppStoreContent.transaction), ("signedRenewalInfo", \.renewal)] {
            guard let text = data?[key]?.string else { continue }
            let part = try verifier.payload(of: text, now: now)
            decoded.append(part)
            content[keyPath: path] = EventFields(part, path: key)
        }
        return IntakeEvent(.appstore, body, decoded: decoded) { (draft: inout IntakeDraft) throws(IgnoredReason) in
            draft.environment = environment
            defer { draft.price = content.price(type: draft.type ?? "", subtype: try? payload.string("subtype")) }
            let id = try payload.eventID("notificationUUID")
            draft.id = id
            let type = try payload.required("notificationType", payload.text("notificationType"))
            draft.type = type
            return .event(try content.event(payload, id: id, type: type))
        }
    }

    /// Apple signs notifications for every app; only ours are accepted. Production ones must carry the app's number.
    private func environment(_ payload: EventFields, _ data: EventFields?) throws(SignedPayloadVerifier.Rejection) -> BillingEnvironment {
        guard let data else {
            // Those of external purchases, which have no effect. Anyone has other things that Apple has signed, such as a transaction of an app.
            let named = ["externalPurchaseToken", "appData"].lazy.compactMap { try? payload.object($0) }.first
            guard named?["bundleId"]?.string == policy.bundleID, payload["notificationUUID"]?.string != nil else { throw .otherApp }
            return .production
        }
        guard data["bundleId"]?.string == policy.bundleID else { throw .otherApp }
        switch data["environment"]?.string {
        case "Production":
            if let expected = policy.appAppleID, data["appAppleId"]?.integer != expected { throw .otherApp }
            return .production
        case "Sandbox": return .sandbox
        default: throw .otherApp
        }
    }
}
