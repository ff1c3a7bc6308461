import CoachCore
import CoachStore
import Foundation
import PostgresClient
import TestSupport
import Testing

@Suite("Billing events of removed users")
struct RemovedSubscriberTests {
    private let now = BillingInstant(milliseconds: 1_767_225_600_000)!
    private let month: Int64 = 30 * 86_400_000

    private func event(_ change: BillingChange, of subject: [SubscriberID], at offset: Int64) -> BillingEvent {
        BillingEvent(source: .revenuecat, id: UUID().uuidString, occurredAt: now.advanced(by: offset), subject: subject, change: change)
    }

    private func purchase(_ event: PurchaseEvent, months: Int64 = 1) -> BillingChange {
        .purchase(
            PurchaseReference(environment: .production, store: .appStore, originalTransaction: "t-1"), event,
            BillingPeriod(product: "monthly", entitlements: ["pro"], expiry: .at(now.advanced(by: months * month))))
    }

    /// With the user's id and a text of theirs, as raw webhooks have them.
    private func delivery(_ event: BillingEvent, of user: Caller) -> BillingDelivery {
        let body = #"{"app_user_id":"\#(user.userID.uuid.uuidString)","email":"canary@example.org","id":"\#(user.userID)"}"#
        return BillingDelivery(
            source: event.source, id: event.id, type: "TYPE", environment: .production, body: Array(body.utf8),
            names: [SubscriberID(user.userID)], effect: .event(event), price: Nanodollars(9_990_000_000))
    }

    /// Without an effect, with the body in base64, as the App Store's.
    private func ignored(_ id: String, of user: Caller) -> BillingDelivery {
        var delivery = delivery(event(.identity, of: [], at: 0), of: user)
        (delivery.effect, delivery.id) = (.none(reason: "unknown type"), id)
        delivery.body = Array(Data(delivery.body).base64EncodedString().utf8)
        return delivery
    }

    /// Tables with the user's id or the canary, as text, inside bytes or encoded.
    private func tables(naming user: UserID, _ store: StoreFixture) async throws -> [String] {
        let names: [String] = try await store.admin.query(
            """
            select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where n.nspname in ('public', 'gateway', 'ledger', 'operator') and c.relkind = 'r'
            """
        ) { rows in try rows.map { row in try row.value(0) } }
        let needles = [user.description, user.uuid.uuidString, "canary"].flatMap(encodedForms)
        let condition = needles.map { "line like '%\($0)%'" }.joined(separator: " or ")
        var found: [String] = []
        for name in names {
            let query = Query(unsafeSQL: "select count(*) from (select to_jsonb(t)::text as line from \(name) t) r where \(condition)")
            if try await store.count(query) > 0 { found.append(name) }
        }
        return found
    }

    private func remove(_ caller: Caller, _ store: StoreFixture) async throws {
        let removal = UserRemoval.postgres(client: store.gateway)
        while try await removal.removePart(caller.userID) != .removed {}
    }

    @Test("keep what the fold and the figures need, under a pseudonym; nothing else names the user, and later events bring nothing back")
    func removed() async throws {
        let store = try await StoreFixture()
        let inbox = BillingInbox.postgres(client: store.gateway, includingSandbox: false)
        let caller = Caller.someone()
        try await store.turns().talk(caller, "canary")
        _ = try await inbox.store(delivery(event(purchase(.purchased), of: [SubscriberID(caller.userID)], at: 0), of: caller))
        _ = try await inbox.store(ignored("before", of: caller))
        _ = try await Rollups.postgres(client: store.gateway).fold()
        #expect(try await tables(naming: caller.userID, store).contains("gateway.billing_events"))

        try await remove(caller, store)
        #expect(try await tables(naming: caller.userID, store) == [])
        #expect(try await store.count("select count(*) from gateway.billing_figures where price_usd = 9.99") == 1)
        #expect(try await store.count("select count(*) from gateway.subscriber_ids") == 1)

        let renewal = delivery(event(purchase(.renewed, months: 2), of: [SubscriberID(caller.userID)], at: month), of: caller)
        #expect(try await inbox.store(renewal) == .stored)
        #expect(try await inbox.store(renewal) == .known)
        _ = try await Rollups.postgres(client: store.gateway).fold()
        #expect(try await tables(naming: caller.userID, store) == [])
        #expect(try await store.count("select count(*) from gateway.subscribers where revision > 1") == 1, "folded with the former")
        #expect(try await inbox.allExpiring(within: .seconds(86_400)) == [])
        var after = ignored("after", of: caller)
        after.followUp = [NewJob(JobKind(rawValue: "look up"), userID: caller.userID)]
        for receipt in [BillingReceipt.stored, .known] { #expect(try await inbox.store(after) == receipt) }
        #expect(try await store.count("select count(*) from gateway.jobs where kind = 'look up'") == 0)
        #expect(try await tables(naming: caller.userID, store) == [])
        #expect(try await store.count("select count(*) from gateway.billing_events where status = 'ignored' and body = ''") == 2)
    }

    @Test("an ignored event keeps its body while none of the users that it names is removed")
    func ignoredOfOthers() async throws {
        let store = try await StoreFixture()
        let inbox = BillingInbox.postgres(client: store.gateway, includingSandbox: false)
        let (removed, kept) = (Caller.someone(), Caller.someone())
        for user in [removed, kept] { _ = try await store.requests().take(user) }
        _ = try await inbox.store(ignored("kept", of: kept))
        var both = ignored("both", of: kept)
        both.names.insert(SubscriberID(removed.userID))
        _ = try await inbox.store(both)
        try await remove(removed, store)
        #expect(try await store.value("select string_agg(event_id, ' ') from gateway.billing_events where body <> ''") == "kept")
    }

    @Test("an ignored event that names a customer of the user keeps no body, nor does a later one; other customers' do")
    func customers() async throws {
        let store = try await StoreFixture()
        let inbox = BillingInbox.postgres(client: store.gateway, includingSandbox: false)
        let caller = Caller.someone()
        _ = try await store.requests().take(caller)
        let (own, other) = (try #require(SubscriberID(.stripe, "cus_own")), try #require(SubscriberID(.stripe, "cus_other")))
        _ = try await inbox.store(delivery(event(.identity, of: [SubscriberID(caller.userID), own], at: 0), of: caller))
        _ = try await inbox.store(delivery(event(.identity, of: [.init(.random()), other], at: 0), of: .someone()))
        func update(_ id: String, of customer: SubscriberID) async throws {
            var update = ignored(id, of: caller)
            (update.body, update.names) = (Array(#"{"customer":"…","email":"canary@example.org"}"#.utf8), [customer])
            _ = try await inbox.store(update)
        }
        try await update("before", of: own)
        try await update("other", of: other)
        try await remove(caller, store)
        try await update("after", of: own)
        try await update("another", of: other)
        let kept: Query = """
            select string_agg(event_id, ' ' order by event_id) from gateway.billing_events where status = 'ignored' and body <> ''
            """
        #expect(try await store.value(kept) == "another other")
        #expect(try await store.count("select count(*) from gateway.billing_events where status = 'ignored'") == 4)
    }

    @Test("an event with an effect that names a customer of the user alone is cut to what the fold reads; one of another user is not")
    func invoices() async throws {
        let store = try await StoreFixture()
        let inbox = BillingInbox.postgres(client: store.gateway, includingSandbox: false)
        let (caller, other) = (Caller.someone(), Caller.someone())
        for user in [caller, other] { _ = try await store.requests().take(user) }
        let own = try #require(SubscriberID(.stripe, "cus_own"))
        _ = try await inbox.store(delivery(event(purchase(.purchased), of: [SubscriberID(caller.userID), own], at: 0), of: caller))
        try await remove(caller, store)
        func pay(_ months: Int64, of subject: [SubscriberID]) async throws -> String? {
            var invoice = delivery(event(purchase(.renewed, months: months), of: subject, at: months * month), of: other)
            invoice.body = Array(#"{"customer":"cus_own","customer_email":"canary@example.org"}"#.utf8)
            invoice.followUp = [NewJob(JobKind(rawValue: "look up"))]
            #expect(try await inbox.store(invoice) == .stored)
            return try await store.value(
                "select (convert_from(body, 'UTF8') like '%canary%')::text from gateway.billing_events where event_id = \(invoice.id)")
        }
        #expect(try await pay(2, of: [own]) == "false")
        #expect(try await store.count("select count(*) from gateway.jobs where kind = 'look up'") == 0)
        #expect(try await tables(naming: caller.userID, store) == [])
        #expect(try await store.count("select count(*) from gateway.billing_figures where price_usd = 9.99") == 2)
        #expect(try await pay(3, of: [own, SubscriberID(other.userID)]) == "true")
        #expect(try await store.count("select count(*) from gateway.jobs where kind = 'look up'") == 1)
    }

    @Test("jobs that an event causes for its user are removed with the user, and so are the keys of those that are done")
    func jobs() async throws {
        let store = try await StoreFixture()
        let inbox = BillingInbox.postgres(client: store.gateway, includingSandbox: false)
        let caller = Caller.someone()
        _ = try await store.requests().take(caller)
        var delivery = delivery(event(purchase(.purchased), of: [SubscriberID(caller.userID)], at: 0), of: caller)
        let kinds = (done: JobKind(rawValue: "done"), waiting: JobKind(rawValue: "waiting"))
        delivery.followUp = [kinds.done, kinds.waiting].map { NewJob($0, userID: caller.userID, idempotencyKey: "hash of the user") }
        _ = try await inbox.store(delivery)
        let queue = JobQueue(client: store.gateway, instance: UUID())
        let taken = try await queue.exchange([], [kinds.done: 1], .seconds(30))
        _ = try await queue.exchange(taken.map { EndedRun(run: $0.run, result: .done) }, [:], .seconds(30))
        #expect(try await store.count("select count(*) from gateway.done_jobs where user_id = \(caller.userID.uuid)") == 1)
        try await remove(caller, store)
        #expect(try await store.count("select count(*) from gateway.done_jobs where idempotency_key = 'hash of the user'") == 0)
        #expect(try await store.count("select count(*) from gateway.jobs where idempotency_key = 'hash of the user'") == 0)
    }

    @Test("still give access to another account that the purchase is transferred to")
    func transferred() async throws {
        let store = try await StoreFixture()
        let inbox = BillingInbox.postgres(client: store.gateway, includingSandbox: false)
        let (old, new) = (Caller.someone(), Caller.someone())
        for user in [old, new] { _ = try await store.requests().take(user) }
        _ = try await inbox.store(delivery(event(purchase(.purchased), of: [SubscriberID(old.userID)], at: 0), of: old))
        try await remove(old, store)
        let transfer = BillingChange.transfer(
            from: [SubscriberID(old.userID)], to: [SubscriberID(new.userID)], store: nil, environment: nil)
        _ = try await inbox.store(delivery(event(transfer, of: [], at: 1), of: old))
        let state = try await inbox.subscription(new).state(at: now.advanced(by: 2))
        #expect(state.isActive && state.entitlement == "pro")
        #expect(try await tables(naming: old.userID, store) == [])
    }
}
