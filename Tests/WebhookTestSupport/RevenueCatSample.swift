import JSON

/// The fields of RevenueCat's documented sample payloads that matter to the gateway, and some that do not.
package enum RevenueCatSample {
    package static let anonymous = "$RCAnonymousID:8069238d6049ce87cc529853916d624c"

    /// The sample's `event` with `changes`; `.null` stays, nil removes a field.
    package static func body(_ type: String, _ changes: [String: JSONValue?] = [:]) -> [UInt8] {
        var fields = samples[type] ?? lifecycle
        fields["type"] = .string(type)
        for (name, value) in changes { fields[name] = value }
        let event = JSONValue.object(fields.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) })
        return JSONValue.object([JSONMember("event", event), JSONMember("api_version", "1.0")]).bytes
    }

    /// Milliseconds in range of the year 4466, as in the documented transfer.
    package static let year4466: JSONValue = 78_789_789_798_798

    /// The fields of a subscription event.
    static let lifecycle: [String: JSONValue] = [
        "event_timestamp_ms": 1_658_726_378_679, "product_id": "com.subscription.weekly", "period_type": "NORMAL",
        "purchased_at_ms": 1_658_726_374_000, "expiration_at_ms": 1_659_331_174_000, "environment": "PRODUCTION", "entitlement_id": .null,
        "entitlement_ids": ["pro"], "presented_offering_id": .null, "transaction_id": "123456789012345",
        "original_transaction_id": "123456789012345", "is_family_share": false, "country_code": "US", "app_user_id": "1234567890",
        "aliases": [.string(anonymous)], "original_app_user_id": "$RCAnonymousID:87c6049c58069238dce29853916d624c", "currency": "USD",
        "price": 4.99, "price_in_purchased_currency": 4.99,
        "subscriber_attributes": ["$email": ["updated_at_ms": 1_662_955_084_635, "value": "someone@example.com"]], "store": "APP_STORE",
        "takehome_percentage": 0.7, "tax_percentage": 0.0, "commission_percentage": 0.3, "offer_code": .null,
        "id": "12345678-1234-1234-1234-123456789012", "app_id": "1234567890", "renewal_number": 3, "metadata": .null,
        "experiments": [["experiment_id": "prexp123", "experiment_variant": "b", "enrolled_at_ms": 1_658_726_378_679]],
    ]

    package static let samples: [String: [String: JSONValue]] = [
        "CANCELLATION": merged([
            "event_timestamp_ms": 1_601_337_615_995, "purchased_at_ms": 1_601_417_766_000, "expiration_at_ms": 1_602_022_566_000,
            "transaction_id": "100000000000002", "original_transaction_id": "100000000000000", "cancel_reason": "UNSUBSCRIBE", "price": 0.0,
        ]),
        "EXPIRATION": merged([
            "event_timestamp_ms": 1_697_451_462_232, "purchased_at_ms": 1_696_846_623_000, "expiration_at_ms": 1_697_451_423_000,
            "expiration_reason": "UNSUBSCRIBE",
        ]),
        "BILLING_ISSUE": merged([
            "event_timestamp_ms": 1_601_337_601_013, "purchased_at_ms": 1_598_640_647_000, "expiration_at_ms": 1_601_319_047_000,
            "grace_period_expiration_at_ms": 1_602_546_647_000,
        ]),
        "RENEWAL": merged(["is_trial_conversion": true]),
        "UNCANCELLATION": merged(["price": 0.0]),
        "SUBSCRIPTION_EXTENDED": merged(["expiration_at_ms": 1_660_935_974_000, "price": .null]),
        "REFUND_REVERSED": merged(["price": 4.99, "expiration_at_ms": 1_659_331_174_000]),
        "PURCHASE_REDEEMED": [
            "event_timestamp_ms": 1_658_726_378_679, "id": "12345678-1234-1234-1234-123456789012", "app_id": "1234567890",
            "redeemed_from": [.string(anonymous)], "redeemed_by": ["1234567890"], "store": "RC_BILLING", "environment": "PRODUCTION",
        ],
        "SUBSCRIBER_ALIAS": [
            "event_timestamp_ms": 1_658_726_378_679, "id": "12345678-1234-1234-1234-123456789012", "app_id": "1234567890",
            "app_user_id": "1234567890", "original_app_user_id": "$RCAnonymousID:87c6049c58069238dce29853916d624c",
            "aliases": [.string(anonymous)],
        ],
        "PRICE_INCREASE_CONSENT_REQUIRED": merged(["price": .null]),
        "PRICE_INCREASE_CONSENT_APPROVED": merged(["price": .null]),
        "TEST": merged(["price": .null, "period_type": "TRIAL", "store": "TEST_STORE", "environment": "SANDBOX"]),
        "SUBSCRIPTION_PAUSED": merged([
            "event_timestamp_ms": 1_652_796_516_000, "purchased_at_ms": 1_652_681_048_845, "expiration_at_ms": 1_655_366_648_845,
            "auto_resume_at_ms": 1_657_951_448_845, "store": "PLAY_STORE",
        ]),
        "PRODUCT_CHANGE": merged([
            "event_timestamp_ms": 1_601_338_594_769, "purchased_at_ms": 1_601_304_429_682, "expiration_at_ms": 1_601_311_606_660,
            "new_product_id": "com.revenuecat.myapp.yearly", "store": "PLAY_STORE", "transaction_id": "GPA.1234-1234-1234-12345",
        ]),
        "NON_RENEWING_PURCHASE": merged(["product_id": "2100_tokens", "expiration_at_ms": .null]),
        "TRANSFER": [
            "app_id": "1234567890", "event_timestamp_ms": year4466, "id": "CD489E0E-5D52-4E03-966B-A7F17788E432", "store": "APP_STORE",
            "transferred_from": ["00005A1C-6091-4F81-BE77-F0A83A271AB6"], "transferred_to": ["4BEDB450-8EF2-11E9-B475-0800200C9A66"],
            "environment": "PRODUCTION",
        ],
        "TEMPORARY_ENTITLEMENT_GRANT": [
            "event_timestamp_ms": 1_744_824_815_307, "app_user_id": "41234567890", "store": "APP_STORE",
            "id": "12345678-1234-1234-1234-123456789012", "app_id": "1234567890",
        ],
        "INVOICE_ISSUANCE": merged([
            "event_timestamp_ms": 1_745_004_447_300, "period_type": .null, "expiration_at_ms": .null, "entitlement_ids": .null,
            "transaction_id": .null, "original_transaction_id": .null, "store": "RC_BILLING",
        ]),
        "EXPERIMENT_ENROLLMENT": [
            "event_timestamp_ms": 1_658_726_378_679, "app_user_id": .string(anonymous), "aliases": [.string(anonymous)],
            "original_app_user_id": .string(anonymous), "experiment_id": "prexpca1234abcd", "experiment_variant": "b",
            "offering_id": "experiment_offering_b", "id": "12345678-1234-1234-1234-123456789012",
        ],
        "VIRTUAL_CURRENCY_TRANSACTION": [
            "adjustments": [["amount": 100, "currency": ["code": "CRD", "description": "The main currency unit", "name": "Credits"]]],
            "app_user_id": "1234567890", "event_timestamp_ms": 1_658_726_378_679, "product_display_name": "Monthly sub for 100 credits",
            "product_id": "1M_100credits", "purchase_environment": "PRODUCTION", "source": "in_app_purchase", "store": "APP_STORE",
            "transaction_id": "123456789012345", "virtual_currency_transaction_id": "vatx123456789012345",
            "id": "12345678-1234-1234-1234-123456789012",
        ],
    ]

    private static func merged(_ changes: [String: JSONValue]) -> [String: JSONValue] { lifecycle.merging(changes) { $1 } }
}
