import CoachCore
import Foundation
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// `/api/v1/operator/subscriptions`: figures by day; `…/users/{id}/grant` and `…/revoke`: entitlements by hand, which are in the audit log.
public struct SubscriptionAdministrationRoutes: Feature {
    private let subscriptions: SubscriptionAdministration
    private let now: @Sendable () -> Date

    public init(subscriptions: SubscriptionAdministration, now: @escaping @Sendable () -> Date = { Date() }) {
        self.subscriptions = subscriptions
        self.now = now
    }

    public func register(on routes: RouteTable) {
        let operators = routes.authenticated("Operators").require(.operator)
        operators.get(
            "/api/v1/operator/subscriptions",
            .init(
                "List figures of subscriptions by UTC day; the last 30 days by default", parameters: ReportDays.parameters,
                response: .list(SubscriptionFiguresResource.schema).figures)
        ) { request, context in
            // Counted when it is asked for, not read from the rollups.
            let asOf = now()
            let days = try ReportDays(request, now: asOf)
            let figures = try await subscriptions.figures(context.caller, days.first, days.last)
            return .list(
                request, context, Page(items: figures, nextCursor: nil), figures: FigureMeta(asOf: Timestamp(asOf)),
                SubscriptionFiguresResource.init)
        }
        operators.post(
            "/api/v1/operator/users/{id}/grant",
            .init(
                "Grant an entitlement by hand; another grant of it replaces the earlier one",
                body: Schema.object([.init("entitlement", .text(maximumLength: 255)), .optional("until", .time), .reason]).named("Grant"),
                response: .data(SubscriptionResource.schema))
        ) { request, context in
            let instant = instant
            let grant = try JSONReader.read(requestBody: try await request.collectBytes()) { (body) throws(JSONFinding) in
                (try body.required("entitlement", .text(1...255)), try body.expiry(after: instant), try body.reason)
            }
            return try await change(.grant(entitlement: grant.0, until: grant.1), at: instant, reason: grant.2, context)
        }
        operators.post(
            "/api/v1/operator/users/{id}/revoke",
            .init(
                "End an entitlement, or all of them, whoever gave it; a later purchase or renewal is valid again",
                body: Schema.object([.optional("entitlement", .text(maximumLength: 255)), .reason]).named("Revocation"),
                response: .data(SubscriptionResource.schema))
        ) { request, context in
            let bytes = try await request.collectBytes()
            let revocation = try JSONReader.read(requestBody: bytes.isEmpty ? Array("{}".utf8) : bytes) { (body) throws(JSONFinding) in
                (try body.optional("entitlement", .text(1...255)), try body.reason)
            }
            return try await change(.revocation(entitlement: revocation.0), at: instant, reason: revocation.1, context)
        }
    }

    private var instant: BillingInstant { BillingInstant(clamping: Int64(now().timeIntervalSince1970 * 1000)) }

    private func change(
        _ action: SubscriptionEdit.Action, at instant: BillingInstant, reason: String?, _ context: Authenticated
    ) async throws -> Response {
        guard let user = context.parameters.get("id").flatMap({ UserID(validating: $0) }),
            let timeline = try await subscriptions.change(
                context.caller, user, SubscriptionEdit(action, at: instant, reason: reason, requestID: context.requestID))
        else { throw GatewayError.notFound }
        return .envelope(context) { SubscriptionResource(timeline.state(at: instant)).write(to: &$0) }
    }
}

extension JSONReader {
    /// `until`: nil for a grant without end.
    fileprivate func expiry(after instant: BillingInstant) throws(JSONFinding) -> Expiry {
        guard let until = try optional("until", as: Timestamp.self) else { return .never }
        guard let end = BillingInstant(milliseconds: until.millisecondsSince1970), end > instant else {
            try report("until", .invalid("must be in the future and before 2100"))
            return .never
        }
        return .at(end)
    }
}

extension SubscriptionFiguresResource {
    fileprivate init(_ figures: SubscriptionFigures) {
        self.init(
            day: figures.day.description,
            counts: [
                figures.active, figures.trials, figures.newTrials, figures.newPurchases, figures.conversions, figures.renewals,
                figures.cancellations, figures.churned, figures.trialsLost, figures.refunds, figures.unpriced,
                figures.monthlyRecurringUnpriced,
            ],
            revenue: MoneyText.format(nanodollars: figures.revenue.raw), refunded: MoneyText.format(nanodollars: figures.refunded.raw),
            monthlyRecurring: figures.monthlyRecurring.map { MoneyText.format(nanodollars: $0.raw) })
    }
}
