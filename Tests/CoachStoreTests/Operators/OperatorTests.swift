import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Schema operator")
struct OperatorTests {
    /// The result of a function call as text, as the gateway's role with a caller's claims.
    private func call(_ function: Query, as caller: Caller, _ store: StoreFixture) async throws -> [[String?]] {
        let claims: Query = """
            select set_config('request.jwt.claims', \(caller.claims), true), \
            set_config('request.jwt.claim.sub', \(caller.userID.description), true)
            """
        return try await store.gateway.batch([claims, "select * from \(function)"]) { rows in
            (0..<rows.count).map { row in (0..<rows.columnCount).map { rows.text(row, $0) } }
        }
    }

    private static let calls: [String] = [
        "operator.costs(now(), now(), '{}', 'day', 'UTC')", "operator.user_costs(now(), now(), '{user}', 'day', 'UTC', 1, null)",
        "operator.cost_page(now(), now(), '{day,model,tier}', 'day', 'UTC', 1, null)",
        "operator.persona_costs(now(), now(), '{persona,tier}', 'day', 'UTC', 1, null)",
        """
        operator.figure_page(now() - interval '1 hour', now(), '{day}', 'day', 'UTC', 1, null, 'domains') as (
            day timestamptz, domain public.coaching_domain, turns bigint, share numeric, confidence numeric, abstentions bigint, a numeric,
            b numeric, cost bigint, c bigint)
        """,
        "operator.usage(now(), now(), '{day}', 'day', 'UTC')",
        "operator.retention(now(), now(), '{}', 'day', 'UTC')", "operator.retention_users(now(), now(), null, null, null, 1)",
        "operator.domains(now(), now(), '{domain}', 'day', 'UTC')",
        "operator.latency(now(), now(), '{}', 'day', 'UTC')", "operator.providers(now(), now(), '{provider}', 'day', 'UTC')",
        "operator.errors(date_trunc('day', now(), 'UTC'), date_trunc('day', now(), 'UTC'), '{}', 'day', 'UTC')",
        "operator.calls(now(), now(), '{}', null, 1)", "operator.reports(null, null, 1)",
        "operator.alerts(null, null, 1)", "operator.provider_health()", "operator.measures('{open_circuits}')",
        "operator.user_status(gen_random_uuid())",
        "operator.suspend_user(gen_random_uuid(), 'x', null)",
        "operator.unsuspend_user(gen_random_uuid(), 'x', null)",
        "operator.put_document('limits', 'refused', 9, '{}', null, null)",
        "operator.roll_back_document('limits', 'refused', 9, 1, null, null)",
        "operator.audit_log(null, 1)", "operator.routed_messages(1)", "operator.routed_messages_2(1)",
        "operator.unpublish_persona(gen_random_uuid(), 'x', null)",
        "operator.subscriptions(now(), now(), '{day}', 'day', 'UTC')",
        "operator.safety(now(), now(), '{}', 'day', 'UTC')", "operator.safety_report(2026)",
        """
        operator.change_subscription(gen_random_uuid(), null, null, '[{"source": "operator"}]', '', 1, '[]', '[]')
        """,
    ]

    @Test("only operators may call the functions", arguments: calls)
    func roles(function: String) async throws {
        let store = try await StoreFixture.shared()
        _ = try await call(Query(unsafeSQL: function), as: .someone(role: .operator), store)
        let suspended = Caller.someone(role: .operator)
        try await store.admin.execute("insert into public.users (id, suspended_at) values (\(suspended.userID.uuid), now())")
        let userID = UserID.random()
        func claims(_ json: String) -> Caller { Caller(userID: userID, claims: json, expiresAt: .distantFuture) }
        let others: [Caller] = [
            .someone(), .someone(role: .creator), suspended,
            claims(#"{"sub":"\#(userID)","role":"authenticated","user_metadata":{"role":"operator"}}"#),
            claims(#"{"sub":"\#(userID)","role":"anon","app_metadata":{"role":"operator"}}"#),
            claims(#"{"sub":"\#(UserID.random())","role":"authenticated","app_metadata":{"role":"operator"}}"#),
            claims(""),
        ]
        for other in others {
            // Also before the arguments are looked at.
            for text in [function, function.replacing("'day', 'UTC'", with: "'day', 'No/Zone'")] {
                let error = await #expect(throws: PostgresError.self, "\(other.claims)") {
                    try await call(Query(unsafeSQL: text), as: other, store)
                }
                #expect(error?.sqlState == "42501", "\(other.claims)")
            }
        }
    }

    @Test("messages to route again are neither of ephemeral conversations nor of users who refused memory")
    func routedMessages() async throws {
        let store = try await StoreFixture.shared()
        let (plain, ephemeral, refusing) = (Caller.someone(), Caller.someone(), Caller.someone())
        let mark = UUID().uuidString
        for (caller, word) in [(plain, "plain"), (ephemeral, "ephemeral"), (refusing, "refusing")] {
            _ = try await store.turns().talk(caller, "\(word) \(mark)")
        }
        try await store.admin.execute("update public.conversations set ephemeral = true where user_id = \(ephemeral.userID.uuid)")
        try await store.admin.execute(
            "update public.users set consents = '{\"memory\": false}' where id = \(refusing.userID.uuid)")
        let rows = try await call("operator.routed_messages(5000)", as: .someone(role: .operator), store)
        #expect(rows.compactMap { $0[0] }.filter { $0.hasSuffix(mark) } == ["plain \(mark)"])
        let gone = try await store.turns().talk(plain, "gone \(mark)").conversationID
        _ = try await store.conversations.delete(plain, gone, nil)
        let messages = try await RoutedMessages.postgres(client: store.gateway).newest(.someone(role: .operator), 5_000)
        #expect(messages.map(\.text).filter { $0.hasSuffix(mark) } == ["plain \(mark)"])
    }

    @Test("messages to route again tell users apart, and have none of the operator's own")
    func routedMessagesOfUsers() async throws {
        let store = try await StoreFixture.shared()
        let (one, other, admin) = (Caller.someone(), Caller.someone(), Caller.someone(role: .operator))
        let mark = UUID().uuidString
        for (caller, word) in [(one, "a"), (one, "b"), (other, "c"), (admin, "d")] {
            _ = try await store.turns().talk(caller, "\(word) \(mark)")
        }
        let found = try await RoutedMessages.postgres(client: store.gateway).newest(admin, 5_000).filter { $0.text.hasSuffix(mark) }
        let authors = Dictionary(uniqueKeysWithValues: found.map { (String($0.text.prefix(1)), $0.author) })
        #expect(authors.keys.sorted() == ["a", "b", "c"] && authors["a"] == authors["b"] && authors["a"] != authors["c"])
    }

    @Test("messages to route again are found without reading all turns of their authors")
    func routedMessagesOfLongHistories() async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone()
        let conversation = try await store.turns().talk(caller, "0").conversationID
        for number in 1...9 { try await store.turns().talk(caller, "\(number)", in: conversation) }
        try await store.admin.execute(
            """
            insert into public.turns (user_id, conversation_id, user_message_id, seq, status, request_hash, conversation_named, tier, day)
            select \(caller.userID.uuid), gen_random_uuid(), gen_random_uuid(), 1, 'complete', '', false, 'free', current_date
            from generate_series(1, 5000) n
            """)
        let rows = try await store.operatorRows("routed_messages_2(5000)")
        #expect(rows.compactMap { $0[0] } == (0...9).reversed().map { "\($0)" })
        // The domain of the turn before: none for the first.
        #expect(rows.map { $0[1] != nil } == (0...9).reversed().map { $0 > 0 })
        let pages = try await store.operatorPages("routed_messages_2(5000)")
        #expect(pages < 1_000, "\(pages)")
    }

    @Test("the list of functions above is complete")
    func complete() async throws {
        let store = try await StoreFixture.shared()
        let functions = try await store.admin.query(
            """
            select 'operator.' || p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace
            where n.nspname = 'operator' and p.proname <> 'require_operator'
            """
        ) { rows in try rows.map { row in try row.value(0, as: String.self) } }
        #expect(Set(functions) == Set(Self.calls.map { String($0.prefix { $0 != "(" }) }))
    }

    @Test("an operator suspends a user, whose requests are rejected, and ends the suspension; both are logged")
    func suspension() async throws {
        let store = try await StoreFixture()
        let (caller, admin) = (Caller.someone(), Caller.someone(role: .operator))
        try await store.turns().talk(caller, "Hello")
        try await store.foldRollups()
        func status() async throws -> [String?] {
            try await call("operator.user_status(\(caller.userID.uuid))", as: admin, store).first ?? []
        }
        let before = try await status()
        #expect(before.count == 10 && before[1] == nil)
        #expect(before.suffix(4) == ["0", "1", "0.000123456", "0"])

        func suspend(_ reason: String) async throws -> String? {
            try await call("operator.suspend_user(\(caller.userID.uuid), \(reason), 'request-1')", as: admin, store)[0][0]
        }
        #expect(try await suspend("spam") == "t")
        #expect(try await suspend("again") == "t")
        #expect(try await status().dropFirst(2).first == "spam")
        #expect(try await store.requests().rejection(of: caller) == .suspended)
        let end: Query = "operator.unsuspend_user(\(caller.userID.uuid), 'appeal', null)"
        #expect(try await call(end, as: admin, store) == [["t"]])
        #expect(try await store.requests().rejection(of: caller) == nil)

        let account = try await store.value("select 'account/' || account_id from public.users where id = \(caller.userID.uuid)")
        let entries = try await AuditLog.postgres(client: store.gateway).entries(admin, nil, 10)
        #expect(entries.map(\.action) == ["user.unsuspend", "user.suspend"])
        #expect(entries.allSatisfy { $0.target == account && $0.actor == admin.userID })
        #expect(entries.map(\.reason) == ["appeal", "spam"] && entries[1].requestID == "request-1")

        #expect(try await call("operator.suspend_user(gen_random_uuid(), 'spam', null)", as: admin, store) == [["f"]])
        await #expect(throws: PostgresError.self) { try await suspend(" ") }
        // A removal has begun, which cannot be stopped.
        try await store.admin.execute(
            "update public.users set suspended_at = now(), suspended_reason = 'removal' where id = \(caller.userID.uuid)")
        #expect(try await call(end, as: admin, store) == [["f"]])
    }
}
