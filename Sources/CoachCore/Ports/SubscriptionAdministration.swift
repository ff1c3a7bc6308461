/// Port to what operators see of subscriptions and change of them. Changes are events of the fold and in the audit log. `CoachStore` implements it on
/// PostgreSQL.
///
/// Closures throw `StoreFault`, and `NotAllowed` when the caller is not an operator.
public struct SubscriptionAdministration: Sendable {
    /// Figures of each day from the first to the last one, both included; days in the future are left out.
    public var figures: @Sendable (Caller, _ first: CalendarDay, _ last: CalendarDay) async throws -> [SubscriptionFigures]
    /// The user's subscription after the change; nil without effect when there is no such user.
    public var change: @Sendable (Caller, UserID, SubscriptionEdit) async throws -> EntitlementTimeline?

    public init(
        figures: @escaping @Sendable (Caller, _ first: CalendarDay, _ last: CalendarDay) async throws -> [SubscriptionFigures],
        change: @escaping @Sendable (Caller, UserID, SubscriptionEdit) async throws -> EntitlementTimeline?
    ) {
        self.figures = figures
        self.change = change
    }
}

/// A grant or revocation by hand.
public struct SubscriptionEdit: Sendable, Equatable {
    public enum Action: Sendable, Equatable {
        case grant(entitlement: String, until: Expiry)
        /// nil for all entitlements, of any origin.
        case revocation(entitlement: String?)
    }

    public var action: Action
    public var at: BillingInstant
    public var reason: String?
    /// For the audit log.
    public var requestID: String

    public init(_ action: Action, at: BillingInstant, reason: String?, requestID: String) {
        self.action = action
        self.at = at
        self.reason = reason
        self.requestID = requestID
    }
}

/// Figures of one UTC day of production purchases (`operator.subscriptions`).
public struct SubscriptionFigures: Sendable, Equatable {
    public var day: CalendarDay
    /// At the end of the day, for today now. Paid purchases, and trials.
    public var active: Int
    public var trials: Int
    public var newTrials: Int
    public var newPurchases: Int
    /// Trials that were first paid for.
    public var conversions: Int
    public var renewals: Int
    public var cancellations: Int
    /// Paid purchases that expired, paused or were refunded, and trials that did.
    public var churned: Int
    public var trialsLost: Int
    public var refunds: Int
    public var revenue: Nanodollars
    /// Positive.
    public var refunded: Nanodollars
    /// Payments and refunds without a price in US dollars, which the sums lack.
    public var unpriced: Int
    /// Monthly recurring revenue of the active purchases at the end of the day; nil when none of them has a price.
    public var monthlyRecurring: Nanodollars?
    /// Active recurring purchases that `monthlyRecurring` lacks.
    public var monthlyRecurringUnpriced: Int

    public init(
        day: CalendarDay, active: Int, trials: Int, newTrials: Int, newPurchases: Int, conversions: Int, renewals: Int, cancellations: Int,
        churned: Int, trialsLost: Int, refunds: Int, revenue: Nanodollars, refunded: Nanodollars, unpriced: Int,
        monthlyRecurring: Nanodollars?, monthlyRecurringUnpriced: Int
    ) {
        self.day = day
        self.active = active
        self.trials = trials
        self.newTrials = newTrials
        self.newPurchases = newPurchases
        self.conversions = conversions
        self.renewals = renewals
        self.cancellations = cancellations
        self.churned = churned
        self.trialsLost = trialsLost
        self.refunds = refunds
        self.revenue = revenue
        self.refunded = refunded
        self.unpriced = unpriced
        self.monthlyRecurring = monthlyRecurring
        self.monthlyRecurringUnpriced = monthlyRecurringUnpriced
    }
}
