import CoachCore
import Foundation
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// `/api/v1/operator/users/{id}/grant` and `…/revoke`: an operator grants an entitlement, or ends one of any source. Both are in the audit log.
public struct SubscriptionAdministrationRoutes: Feature {
    private let subscriptions: SubscriptionAdministration
    private let now: @Sendable () -> Date

    public init(subscriptions: SubscriptionAdministration, now: @escaping @Sendable () -> Date = { Date() }) {
        self.subscriptions = subscriptions
        self.now = now
    }

    public func register(on routes: RouteTable) {
        let operators = routes.authenticated("Operators").require(.operator)
        operators.post(
            "/api/v1/operator/users/{id}/grant",
            .init(
                "Grant an entitlement by hand; another grant of it replaces the earlier one",
                body: grant(at: instant), response: .data(SubscriptionResource.schema))
        ) { request, context in
            let instant = instant
            let body = try await request.read(grant(at: instant))
            return try await change(.grant(entitlement: body.entitlement, until: body.until), at: instant, reason: body.reason, context)
        }
        operators.post(
            "/api/v1/operator/users/{id}/revoke",
            .init(
                "End an entitlement, or all of them, whoever gave it; a later purchase or renewal is valid again",
                body: Self.revocation, response: .data(SubscriptionResource.schema))
        ) { request, context in
            let revocation = try await request.read(Self.revocation)
            return try await change(.revocation(entitlement: revocation.entitlement), at: instant, reason: revocation.reason, context)
        }
    }

    /// - Parameter instant: `until` must be later.
    private func grant(at instant: BillingInstant) -> JSONBody<(entitlement: String, until: Expiry, reason: String?)> {
        JSONBody(
            "Grant", descriptions: ["until": "absent: without end", "expires_at": "the same as until"],
            examples: ["until": "2099-01-01T00:00:00.000Z"]
        ) { (body) throws(JSONFinding) in
            (
                entitlement: try body.required("entitlement", .text(1...255)), until: try body.expiry(after: instant),
                reason: try body.reason
            )
        }
    }

    private static let revocation = JSONBody("Revocation", descriptions: ["entitlement": "absent: all of them"], mayBeEmpty: true) {
        (body) throws(JSONFinding) in (entitlement: try body.optional("entitlement", .text(1...255)), reason: try body.reason)
    }

    private var instant: BillingInstant { BillingInstant(clamping: now()) }

    private func change(
        _ action: SubscriptionEdit.Action, at instant: BillingInstant, reason: String?, _ context: AuthenticatedContext
    ) async throws -> Response {
        let edit = SubscriptionEdit(action, at: instant, reason: reason, requestID: context.requestID)
        let user = try context.path("id", UserID.init(validating:))
        guard let timeline = try await subscriptions.change(context.caller, user, edit) else { throw GatewayError.notFound }
        return .envelope(context, SubscriptionResource(timeline.state(at: instant)))
    }
}

extension JSONReader {
    /// Reads `until`, or `expires_at`, its name in the answer; `.never` when both are absent.
    fileprivate func expiry(after instant: BillingInstant) throws(JSONFinding) -> Expiry {
        let field = JSONField<BillingInstant>.parsed(
            "a time stamp (RFC 3339) in the future and before 2100", placeholder: instant, declared: .time
        ) { text in
            let end = Timestamp(rfc3339: text).flatMap { BillingInstant(milliseconds: $0.millisecondsSince1970) }
            return end.flatMap { $0 > instant ? $0 : nil }
        }
        let ends = [try optional("until", field), try optional("expires_at", field)]
        return ends.compactMap { $0 }.first.map(Expiry.at) ?? .never
    }
}
