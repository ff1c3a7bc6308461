import Foundation
import HTTPTestServers
import TestSupport
import Testing

@Suite("Reconciliation", .paced)
struct ReconciliationTests {
    @Test("a renewal whose webhook was lost is fetched from RevenueCat: after the next webhook, daily, and hourly when it is overdue")
    func lostRenewal() async throws {
        let (api, database) = (try StoreAPI(), try await Database.ofItsOwn())
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url,
            environment: [
                "REVENUECAT_WEBHOOK_AUTH": "password", "REVENUECAT_API_KEY": "sk_test", "REVENUECAT_API_URL": api.url,
            ])
        let user = gateway.testUser()
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let month: Int64 = 30 * 86_400_000
        func status() async throws -> String? {
            try await user.browser.send("GET", "/api/v1/me/subscription").json.object("data")["status"]
        }
        /// RevenueCat's state: paid until then.
        func set(until: Int64) async throws {
            let date = ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: Double(until) / 1000))
            let start = ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: Double(until - month) / 1000))
            let subscription = """
                {"expires_date":"\(date)","purchase_date":"\(start)","period_type":"normal","store":"app_store","is_sandbox":false}
                """
            try await api.answer(
                "/v1/subscribers/\(user.id)",
                """
                {"request_date_ms":\(Int64(Date().timeIntervalSince1970 * 1000)),"subscriber":{"entitlements":{"pro":\
                {"expires_date":"\(date)","product_identifier":"monthly"}},"subscriptions":{"monthly":\(subscription)}}}
                """)
        }
        func runJobs(_ kind: String) async throws {
            try await database.fresh.psql("update gateway.jobs set due_at = now() where kind = '\(kind)'")
        }

        try await set(until: now + month)
        let event = """
            {"event":{"type":"INITIAL_PURCHASE","id":"e1","event_timestamp_ms":\(now - 2 * month),"app_user_id":"\(user.id)",\
            "product_id":"monthly","entitlement_ids":["pro"],"purchased_at_ms":\(now - 2 * month),"expiration_at_ms":\(now - month),\
            "store":"APP_STORE","environment":"PRODUCTION","transaction_id":"t1","original_transaction_id":"t1"}}
            """
        let answer = try await Browser(port: gateway.port).send(
            "POST", "/functions/v1/webhook-revenuecat", body: Array(event.utf8), headers: ["Authorization": "password"])
        #expect(answer.status == 200)
        #expect(try await status() == "expired")
        #expect(try await database.rows("select 1 as one from gateway.jobs where kind = 'reconcile_subscriber'").count == 1)
        try await eventually("the daily job") { try await Self.reconciliations(in: database).contains("reconcile_expiring") }
        try await runJobs("reconcile_subscriber")
        try await eventually("the renewal") { try await status() == "active" }
        #expect(try await api.requests().first?.authorization == "Bearer sk_test")

        // Without another webhook: access ends within a day, so the daily job asks; RevenueCat does not know of the renewal yet. When the period has
        // ended, the hourly job asks again on the same day.
        func reconciles(_ kind: String, before end: String, snapshots: Int) async throws {
            try await database.fresh.psql(
                """
                update gateway.user_entitlements set access_until = now() + interval '\(end)';
                select gateway.enqueue_job(null, '\(kind)')
                """)
            try await eventually(kind) {
                try await runJobs("reconcile_expiring_subscriber")
                let events = try await database.rows("select 1 as one from gateway.billing_events where type = 'SNAPSHOT'")
                return events.count == snapshots
            }
        }
        try await set(until: now + month)
        try await reconciles("reconcile_expiring", before: "20 hours", snapshots: 2)
        try await set(until: now + 2 * month)
        try await reconciles("reconcile_overdue", before: "1 hour", snapshots: 3)
    }

    @Test("a redeemed purchase, and an event whose fields make no sense, are followed by a look at the subscribers that they name")
    func ignoredEvents() async throws {
        let (api, database) = (try StoreAPI(), try await Database.ofItsOwn())
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url,
            environment: [
                "REVENUECAT_WEBHOOK_AUTH": "password", "REVENUECAT_API_KEY": "sk_test", "REVENUECAT_API_URL": api.url,
            ])
        let users = (0..<4).map { _ in WebhookGateway.newUser() }
        let bodies = [
            try RevenueCatEvents.body("PURCHASE_REDEEMED", users[0], ["redeemed_from": [users[0]], "redeemed_by": [users[1]]]),
            try RevenueCatEvents.body("INITIAL_PURCHASE", users[2], ["expiration_at_ms": NSNull()]),
            try RevenueCatEvents.body("INITIAL_PURCHASE", users[3], until: 78_789_789_798_798),
        ]
        for body in bodies {
            let answer = try await Browser(port: gateway.port).send(
                "POST", RevenueCatEvents.path, body: body, headers: ["Authorization": "password"])
            #expect(answer.status == 200)
        }
        #expect(try await database.rows("select 1 as one from gateway.billing_events where status = 'ignored'").count == 3)
        let jobs = try await database.rows(
            "select payload ->> 'subscriber' as subscriber from gateway.jobs where kind = 'reconcile_subscriber'")
        #expect(jobs.compactMap { $0["subscriber"] }.sorted() == users.sorted())
    }

    @Test("without a key no reconciliation is enqueued, neither by a webhook nor daily")
    func withoutKey() async throws {
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url,
            environment: ["REVENUECAT_WEBHOOK_AUTH": "password"])
        let user = gateway.testUser()
        let answer = try await user.browser.send(
            "POST", RevenueCatEvents.path, body: try RevenueCatEvents.body("INITIAL_PURCHASE", user.id),
            headers: ["Authorization": "password"])
        #expect(answer.status == 200)
        // The housekeeping that enqueues the daily jobs has run.
        try await eventually("the hourly jobs") { try await Self.jobs(in: database).contains("purge_deleted_content") }
        #expect(try await Self.reconciliations(in: database) == [])
    }

    /// The kinds of all jobs that were enqueued, also of those that are done.
    private static func jobs(in database: Database) async throws -> [String] {
        try await database.rows("select kind from gateway.jobs union select kind from gateway.done_jobs").compactMap { $0["kind"] }
    }

    private static func reconciliations(in database: Database) async throws -> [String] {
        try await jobs(in: database).filter { $0.hasPrefix("reconcile_") }
    }
}
