/// The documented event types of RevenueCat's webhooks.
enum RevenueCatEventType: String, CaseIterable {
    case test = "TEST"
    case initialPurchase = "INITIAL_PURCHASE"
    case renewal = "RENEWAL"
    case cancellation = "CANCELLATION"
    case uncancellation = "UNCANCELLATION"
    case nonRenewingPurchase = "NON_RENEWING_PURCHASE"
    case subscriptionPaused = "SUBSCRIPTION_PAUSED"
    case expiration = "EXPIRATION"
    case billingIssue = "BILLING_ISSUE"
    case productChange = "PRODUCT_CHANGE"
    case transfer = "TRANSFER"
    case subscriptionExtended = "SUBSCRIPTION_EXTENDED"
    case temporaryEntitlementGrant = "TEMPORARY_ENTITLEMENT_GRANT"
    case refundReversed = "REFUND_REVERSED"
    case invoiceIssuance = "INVOICE_ISSUANCE"
    case virtualCurrencyTransaction = "VIRTUAL_CURRENCY_TRANSACTION"
    case experimentEnrollment = "EXPERIMENT_ENROLLMENT"
    case purchaseRedeemed = "PURCHASE_REDEEMED"
    case subscriberAlias = "SUBSCRIBER_ALIAS"
    case priceIncreaseConsentRequired = "PRICE_INCREASE_CONSENT_REQUIRED"
    case priceIncreaseConsentApproved = "PRICE_INCREASE_CONSENT_APPROVED"
    case paywallImpression = "PAYWALL_IMPRESSION"
    case paywallClose = "PAYWALL_CLOSE"
    case paywallCancel = "PAYWALL_CANCEL"
    case paywallExitOffer = "PAYWALL_EXIT_OFFER"
    case paywallComponentInteracted = "PAYWALL_COMPONENT_INTERACTED"

    var affectsEntitlements: Bool {
        switch self {
        case .initialPurchase, .renewal, .cancellation, .uncancellation, .nonRenewingPurchase, .subscriptionPaused, .expiration,
            .billingIssue, .productChange, .transfer, .subscriptionExtended, .temporaryEntitlementGrant, .refundReversed, .subscriberAlias:
            true
        case .test, .invoiceIssuance, .virtualCurrencyTransaction, .experimentEnrollment, .purchaseRedeemed, .priceIncreaseConsentRequired,
            .priceIncreaseConsentApproved, .paywallImpression, .paywallClose, .paywallCancel, .paywallExitOffer,
            .paywallComponentInteracted:
            false
        }
    }
}
