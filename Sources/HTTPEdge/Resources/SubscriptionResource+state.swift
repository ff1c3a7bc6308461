import CoachCore
import GatewayAPI
import JSON

extension SubscriptionResource {
    public init(_ state: EntitlementState) {
        self.init(
            active: state.isActive, status: state.status.rawValue, entitlement: state.entitlement, isTrial: state.isTrial,
            expiresAt: state.expiresAt.map { Timestamp(millisecondsSince1970: $0.milliseconds) }, willRenew: state.willRenew,
            inGrace: state.inGrace, store: state.store?.rawValue, managementURL: state.store?.managementURL)
    }
}
