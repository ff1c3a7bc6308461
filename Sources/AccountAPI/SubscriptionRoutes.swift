import CoachCore
import Foundation
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// `GET /api/v1/me/subscription`.
public struct SubscriptionRoutes: Feature {
    private let inbox: BillingInbox
    private let now: @Sendable () -> Date

    public init(inbox: BillingInbox, now: @escaping @Sendable () -> Date = { Date() }) {
        self.inbox = inbox
        self.now = now
    }

    public func register(on routes: RouteTable) {
        let description = RouteDescription("Get the user's subscription", response: .data(SubscriptionResource.schema))
        routes.authenticated("Account").get("/api/v1/me/subscription", description) { _, context in
            .envelope(context, try await resource(of: context.caller))
        }
    }

    func resource(of caller: Caller) async throws -> SubscriptionResource {
        let timeline = try await inbox.subscription(caller)
        return SubscriptionResource(timeline.state(at: BillingInstant(clamping: now())))
    }
}
