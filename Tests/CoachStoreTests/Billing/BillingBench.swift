import CoachCore
import CoachStore
import Foundation
import PostgresClient

/// What tests of the inbox share.
protocol BillingBench {}

extension BillingBench {
    /// 2026-01-01.
    var now: BillingInstant { BillingInstant(clamping: 1_767_225_600_000) }
    /// In milliseconds.
    var month: Int64 { 30 * 86_400_000 }

    func inbox(_ store: StoreFixture) -> BillingInbox { .postgres(client: store.gateway, includingSandbox: false) }

    func purchase(
        _ event: PurchaseEvent, of subject: [SubscriberID], at offset: Int64 = 0, until: Int64? = nil, _ entitlement: String = "pro",
        id: String = UUID().uuidString
    ) -> BillingEvent {
        BillingEvent(
            source: .revenuecat, id: id, occurredAt: now.advanced(by: offset), subject: subject,
            change: .purchase(
                PurchaseReference(environment: .production, store: .appStore, originalTransaction: "t-\(subject[0])"), event,
                BillingPeriod(product: "monthly", entitlements: [entitlement], expiry: .at(now.advanced(by: until ?? month)))))
    }

    func delivery(_ event: BillingEvent, body: [UInt8] = [0xFF, 0x00]) -> BillingDelivery {
        BillingDelivery(
            source: event.source, id: event.id, type: "TYPE", environment: .production, body: body, effect: .event(event))
    }

    func state(_ caller: Caller, _ store: StoreFixture, at offset: Int64 = 1) async throws -> EntitlementState {
        try await inbox(store).subscription(caller).state(at: now.advanced(by: offset))
    }

    func entitlements(_ caller: Caller, _ store: StoreFixture) async throws -> [String] {
        try await store.admin.query(
            """
            select entitlement || ' ' || (extract(epoch from access_until) * 1000)::bigint from gateway.user_entitlements
            where user_id = \(caller.userID.uuid) order by 1
            """
        ) { rows in try rows.map { row in try row.value(0, as: String.self) } }
    }
}
