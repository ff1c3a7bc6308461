import Foundation
import TestSupport
import Testing

@Suite("The removal of an account", .paced)
struct AccountRemovalTests {
    @Test("the account is removed after a confirmation that works once, with its running turn")
    func removal() async throws {
        let testBed = try await TestBed.shared()
        let user = TestUser(gateway: testBed.gateway, role: "creator")
        let canary = "canary \(marker())"
        let persona = try await leaveTraces(of: user, canary)
        let asked = try await user.send("DELETE", "/api/v1/me")
        #expect(asked.status == 428 && asked.errorCode == "BIZ_2008")
        let token = try #require(asked.error.object("details")["confirmation"])
        #expect(try await user.send("DELETE", "/api/v1/me?confirmation=0").status == 412)
        let without = try await tablesWithout(user)
        #expect(without == Self.empty)
        let avatar = "select 1 as n from persona_avatars where persona_id = '\(persona)'"
        #expect(try await testBed.database.rows(avatar).count == 1)
        async let running = user.chat("Slow \(sim(["words": 300, "pace_ms": 100]))")
        try await eventually("the running turn") {
            try await testBed.database.rows("select id from turns where user_id = '\(user.id)' and status = 'running'").count == 1
        }
        let account = try #require(try await testBed.database.row("select account_id from users where id = '\(user.id)'")["account_id"])
        let removed = try await user.send("DELETE", "/api/v1/me?confirmation=\(token)")
        #expect(removed.status == 202 && removed.data["status"] == "removing", "\(removed.text)")
        #expect(try await user.send("DELETE", "/api/v1/me?confirmation=\(token)").errorCode == "AUTH_1003")
        let stopped = try await running
        #expect(stopped.first("done")?["finish_reason"] == "stopped", "\(stopped.text)")
        try await eventually(within: .seconds(30), "the removal") {
            try await testBed.database.rows("select id from users where id = '\(user.id)'").isEmpty
        }
        #expect(try await user.send("GET", "/api/v1/me").errorCode == "AUTH_1003")
        // The ledger is kept, of an account that leads to nobody; what remains of the user is a hash that nobody can make without the key.
        let calls = "select 1 as n from usage_logs where account_id = '\(account)' and revision = 1 and purpose = 'chat'"
        #expect(try await testBed.database.rows(calls).count == 3)
        let tombstones = try await testBed.database.row(
            """
            select count(*) filter (where r.user_hash = gateway.user_hash('\(user.id)')) as keyed,
                count(*) filter (where r.user_hash in (sha256('\(user.id)'), sha256(uuid_send('\(user.id)')))) as plain
            from gateway.removed_users r
            """)
        #expect(tombstones.number("keyed") == 1 && tombstones.number("plain") == 0)
        try await sendIgnoredEvent(of: user, canary)
        let tables = try await testBed.database.rows(
            """
            select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\\_%' and c.relkind in ('r', 'm')
            """
        ).compactMap { $0["name"] }
        for schema in ["public", "gateway", "ledger"] { #expect(tables.contains { $0.hasPrefix("\(schema).") }) }
        // The last is the id's bytes in hex, as PostgreSQL writes `bytea`.
        let words = [user.id, user.id.uppercased(), canary].flatMap(encodedForms) + [user.id.replacing("-", with: "")]
        let forms = words.map { "'%\($0)%'" }.joined(separator: ", ")
        // The job's row is removed a moment later.
        for table in tables {
            try await eventually("nothing of the user in \(table)") {
                try await testBed.database.rows("select 1 as n from \(table) t where to_jsonb(t)::text like any (array[\(forms)])").isEmpty
            }
        }
        #expect(try await testBed.database.rows(avatar).isEmpty)
    }

    /// Where a user who has used everything has no row: of turns and summaries that run, of jobs that wait or have ended, and of an operator's
    /// session.
    private static let empty: Set<String> = [
        "gateway.done_jobs", "gateway.jobs", "gateway.operator_sessions", "gateway.running_summaries", "gateway.running_turns",
    ]

    /// The tables with a user in which this one has no row, but for those of jobs, which come and go.
    private func tablesWithout(_ user: TestUser) async throws -> Set<String> {
        let database = try await TestBed.shared().database
        let tables = try await database.rows(
            """
            select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
            join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id'
            where n.nspname in ('public', 'gateway') and c.relkind in ('r', 'p')
            """
        ).compactMap { $0["name"] }
        #expect(tables.count > 20)
        var without: Set<String> = ["gateway.done_jobs", "gateway.jobs"]
        for table in tables {
            let rows = try await database.rows("select 1 as n from \(table) where user_id::text = '\(user.id)' limit 1")
            if rows.isEmpty { without.insert(table) }
        }
        return without
    }

    /// An event that the gateway stores without an effect, with the user's id and the text.
    private func sendIgnoredEvent(of user: TestUser, _ canary: String) async throws {
        let attributes = ["subscriber_attributes": ["$email": ["value": canary]]]
        let body = try RevenueCatEvents.body("PRICE_INCREASE_CONSENT_REQUIRED", user.id, attributes)
        #expect(try await WebhookGateway.revenueCat.value.send(body).status == 200)
    }

    /// Writes the text into everything that a user can write, and returns the id of a persona of theirs.
    private func leaveTraces(of user: TestUser, _ canary: String) async throws -> String {
        let said = try await user.chat("\(canary) \(sim(["text": canary]))", headers: ["Idempotency-Key": "\(canary) chat"])
        expectDone(said)
        let message = try #require(said.first("done")?["message_id"])
        let any = ["If-Match": "*"]
        func keyed(_ name: String) -> [String: String] { ["Idempotency-Key": "\(canary) \(name)"] }
        for goal in ["\(canary) 1", "\(canary) 2"] {
            #expect(try await user.send("PUT", "/api/v1/context-profile", ["goals": [goal]], headers: any).status == 200)
        }
        let report = ["message_id": message, "reason": "other", "comment": canary]
        #expect(try await user.send("POST", "/api/v1/reports", report, headers: keyed("report")).status == 201)
        #expect(try await user.send("PUT", "/api/v1/me/consents/disclaimer", ["granted": true, "version": canary]).status == 200)
        #expect(try await user.send("PATCH", "/api/v1/me", ["display_name": canary]).status == 200)
        try await sendIgnoredEvent(of: user, canary)
        #expect(try await user.send("POST", "/api/v1/conversations", ["title": canary], headers: keyed("conversation")).status == 201)
        #expect(try await user.send("GET", "/api/v1/messages/search?q=canary").list.count == 2)
        let persona = try #require(try await user.send("POST", "/api/v1/personas", ["name": canary], headers: keyed("persona")).data["id"])
        let card: [String: Any] = ["spec": "chara_card_v3", "data": ["name": canary, "system_prompt": canary]]
        #expect(try await user.send("PUT", "/api/v1/personas/\(persona)/card", card, headers: any).status == 200)
        #expect(try await user.send("POST", "/api/v1/personas/\(persona)/publish").status == 200)
        #expect(try await user.send("POST", "/api/v1/personas/\(persona)/share-links", ["label": canary]).status == 201)
        expectDone(try await user.send("POST", "/api/v1/personas/\(persona)/preview", ["message": "\(canary) \(sim(["words": 1]))"]))
        try await TestBed.shared().database.fresh.psql(
            """
            insert into push_tokens (user_id, token) values ('\(user.id)', '\(canary)');
            update conversations set summary = '\(canary)' where user_id = '\(user.id)'
            """)
        try await redeem(as: user)
        #expect(try await user.browser.send("PUT", "/api/v1/personas/\(persona)/avatar", body: AvatarFiles.pixel).status == 200)
        // A safety state and, from a purchase, an entitlement.
        #expect(try await user.chat("I want to kill myself \(canary)").eventTypes.contains("safety"))
        let purchase = UUID().uuidString
        let bought = try RevenueCatEvents.body(
            "INITIAL_PURCHASE", user.id,
            [
                "transaction_id": purchase, "original_transaction_id": purchase,
                "subscriber_attributes": ["$email": ["value": canary]],
            ])
        #expect(try await WebhookGateway.revenueCat.value.send(bought).status == 200)
        try await eventually("the entitlement") {
            try await TestBed.shared().database.rows("select 1 as n from gateway.user_entitlements where user_id = '\(user.id)'").count == 1
        }
        return persona
    }

    /// Redeems a share link of another creator's persona.
    private func redeem(as user: TestUser) async throws {
        let creator = TestUser(gateway: try await TestBed.shared().gateway, role: "creator")
        let persona = try #require(try await creator.send("POST", "/api/v1/personas", ["name": "Ada"]).data["id"])
        #expect(try await creator.send("POST", "/api/v1/personas/\(persona)/publish").status == 200)
        let link = try await creator.send("POST", "/api/v1/personas/\(persona)/share-links", [:])
        let token = try #require(link.data["token"])
        let redeemed = try await user.send("POST", "/api/v1/personas/redeem", ["share_token": token])
        #expect(redeemed.status == 200, "\(redeemed.text)")
    }
}
