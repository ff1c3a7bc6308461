import CoachCore
import CoachStore
import Foundation
import JSON
import PostgresClient
import Testing

@Suite("SubscriptionAdministration")
struct SubscriptionAdministrationTests {
    private static let day: Int64 = 86_400_000

    private func subscriptions(_ store: StoreFixture) -> SubscriptionAdministration {
        .postgres(client: store.gateway, includingSandbox: false)
    }

    @Test("a grant and its revocation are billing events, are in the audit log, and need an existing user")
    func grant() async throws {
        let store = try await StoreFixture()
        let (user, admin) = (UserID.random(), Caller.someone(role: .operator))
        let now = BillingInstant(clamping: Int64(Date().timeIntervalSince1970 * 1000))
        func change(_ action: SubscriptionEdit.Action, at offset: Int64, by caller: Caller? = nil) async throws -> EntitlementTimeline? {
            try await subscriptions(store).change(
                caller ?? admin, user,
                SubscriptionEdit(action, at: now.advanced(by: offset), reason: "because \(offset)", requestID: "request-\(offset)"))
        }
        let grant = SubscriptionEdit.Action.grant(entitlement: "pro", until: .at(now.advanced(by: Self.day)))
        #expect(try await change(grant, at: 1) == nil)
        #expect(try await store.count("select count(*) from gateway.billing_events") == 0)
        try await store.admin.execute("insert into public.users (id) values (\(user.uuid))")
        #expect(try await change(grant, at: 2)?.state(at: now.advanced(by: 3)).store == .manual)
        #expect(
            try await store.value(
                "select (extract(epoch from access_until) * 1000)::bigint::text from gateway.user_entitlements")
                == "\(now.milliseconds + Self.day)")
        #expect(try await change(.revocation(entitlement: nil), at: 5)?.state(at: now.advanced(by: 6)).status == .revoked)
        #expect(try await store.count("select count(*) from gateway.user_entitlements") == 0)
        await #expect(throws: NotAllowed.self) { try await change(grant, at: 7, by: .someone(role: .creator)) }

        let account = try await store.value("select 'account/' || account_id from public.users where id = \(user.uuid)")
        let entries = try await AuditLog.postgres(client: store.gateway).entries(admin, nil, 10)
        #expect(entries.map(\.action) == ["subscription.revoke", "subscription.grant"])
        #expect(entries.map(\.reason) == ["because 5", "because 2"] && entries.map(\.requestID) == ["request-5", "request-2"])
        #expect(entries.allSatisfy { $0.target == account && $0.actor == admin.userID })
        #expect(try await store.count("select count(*) from gateway.billing_events where source = 'operator'") == 2)
    }

    @Test("a change is after all that is known, though its instance's clock is behind")
    func clockBehind() async throws {
        let store = try await StoreFixture()
        let (user, admin) = (UserID.random(), Caller.someone(role: .operator))
        let now = BillingInstant(clamping: Int64(Date().timeIntervalSince1970 * 1000))
        try await store.admin.execute("insert into public.users (id) values (\(user.uuid))")
        func status(after action: SubscriptionEdit.Action, at offset: Int64) async throws -> EntitlementState.Status? {
            let edit = SubscriptionEdit(action, at: now.advanced(by: offset), reason: nil, requestID: "request")
            return try await subscriptions(store).change(admin, user, edit)?.state(at: now).status
        }
        let grant = SubscriptionEdit.Action.grant(entitlement: "pro", until: .at(now.advanced(by: Self.day)))
        #expect(try await status(after: grant, at: 600_000) == .active)
        #expect(try await status(after: .revocation(entitlement: "pro"), at: 0) == .revoked)
        #expect(try await store.count("select count(*) from gateway.user_entitlements") == 0)
        #expect(try await status(after: grant, at: 1) == .active)
        #expect(try await store.count("select count(*) from gateway.user_entitlements") == 1)
    }
}
