import CoachCore
import CoachStore
import Foundation
import JSON
import PostgresClient
import Testing

@Suite("Lists of the export")
struct ExportTests {
    @Test("have summaries, usage, versions, cards, share links and devices of their user and of nobody else, page by page")
    func rows() async throws {
        let store = try await StoreFixture.shared()
        let (creator, other) = (Caller.someone(role: .creator), Caller.someone(role: .creator))
        let (personas, sharing) = (store.personas(), PersonaSharing.postgres(client: store.gateway))
        for caller in [creator, other] {
            _ = try await store.requests().take(caller)
            let conversation = try await store.turns().talk(caller, "Hello").conversationID
            try await store.admin.execute("update public.conversations set summary = 'They talked.' where id = \(conversation.uuid)")
            for device in ["a", "b"] {
                let token = "\(device) \(caller.userID)"
                try await store.postgrest(
                    caller, "insert into public.push_tokens (user_id, token) values (\(caller.userID.uuid), \(token))")
            }
            let card: JSONValue = ["spec": "chara_card_v3", "data": ["name": "Nova", "system_prompt": "kept"]]
            let id = try await personas.create(caller, .random(), try .named("Ada")).id
            for name in ["One", "Two"] {
                _ = try await personas.put(caller, id, try .named(name), nil)
                #expect(try await personas.publish(caller, id, nil))
            }
            _ = try await personas.importCard(caller, id, try CharacterCard(JSONReader(card)), nil)
            _ = try await sharing.create(caller, id, .random(), ShareLinkDraft())
        }
        let export = ExportRepository.postgres(client: store.gateway)
        func all(_ list: ExportedList) async throws -> [JSONValue] {
            var (rows, last): ([JSONValue], String?) = ([], nil)
            while let row = try await export.rows(creator, list, last, 1).first {
                rows.append(row.json)
                last = row.key
            }
            return rows
        }
        #expect(try await all(.summaries).map { $0["summary"] } == ["They talked."])
        let usage = try await all(.usage)
        #expect(usage.count == 1 && usage[0]["cost_usd"] == "0.000123456" && usage[0]["tokens"]?.integer ?? 0 > 0, "\(usage)")
        #expect(try await all(.personaVersions).map { $0["name"] } == ["One", "Two"])
        #expect(try await all(.cards).map { $0["card"]?["data"]?["system_prompt"] } == ["kept"])
        #expect(try await all(.shareLinks).count == 1)
        #expect(try await export.isUserActive(creator))
        try await store.admin.execute("update public.users set suspended_at = now() where id = \(creator.userID.uuid)")
        #expect(try await !export.isUserActive(creator))
        #expect(try await export.isUserActive(other))
        let devices = try await all(.pushTokens)
        #expect(devices.map { $0["token"]?.string } == ["a \(creator.userID)", "b \(creator.userID)"])
        #expect(devices[0]["created_at"]?.string?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
    }

    @Test("have turns as they were routed and assessed, calls also of removed turns, safety levels and limits, of their user alone")
    func turns() async throws {
        let store = try await StoreFixture()
        let (caller, other, turns) = (Caller.someone(), Caller.someone(), store.turns())
        var said: [TurnIdentity] = []
        for (user, message) in [(caller, "One"), (caller, "Two"), (other, "Three")] {
            let risk = RiskAssessment.danger(.crisis)
            let identity = try await turns.begin(user, TurnRequest(message: message), risk: risk).begun.identity
            var receipt = TurnReceipt.complete(identity, of: user, risk: risk)
            receipt.crisis = CrisisRecord(
                risk: risk, region: Region(country: "US"), hasFixedText: false, replaced: [],
                versions: CrisisRecord.Versions(model: "0011", grammar: 4, outputGuard: 1, resources: 3))
            #expect(try await turns.finish(receipt) == .finalized)
            if user.userID == caller.userID { said.append(identity) }
        }
        // A turn of the day before, which was removed.
        try await store.admin.execute(
            "insert into public.budgets (user_id, day) select user_id, day - 1 from public.budgets where user_id = \(caller.userID.uuid)")
        try await store.admin.execute(
            """
            insert into public.usage_logs (account_id, day, turn_id, attempt, call, revision, purpose, tier, finalized_by, model)
            select u.account_id, b.day, gen_random_uuid(), 1, 1, 1, 'chat', 'free', 'owner', 'old'
            from public.users u join public.budgets b on b.user_id = u.id where u.id = \(caller.userID.uuid) order by b.day limit 1
            """)
        try await store.admin.execute("delete from public.conversations where id = \(said[0].conversationID.uuid)")

        let export = ExportRepository.postgres(client: store.gateway)
        let found = try await export.rows(caller, .turns, nil, 10).map(\.json)
        #expect(found.map { $0["id"]?.string } == ["\(said[1].turnID)"])
        #expect(found[0]["domain"] == "mindset" && found[0]["risk_tier"]?.integer == 2 && found[0]["risk_categories"] == ["suicide"])
        #expect(found[0]["finished_at"]?.string?.hasSuffix("Z") == true && found[0]["request_hash"] == nil)
        #expect(try await export.rows(caller, .turns, "\(said[1].turnID)", 10).isEmpty)

        var (calls, last): ([JSONValue], String?) = ([], nil)
        while let call = try await export.modelCalls(caller, last, 1).first {
            calls.append(call.json)
            last = call.key
        }
        #expect(calls.map { $0["model"] } == ["old", "coach-sim", "coach-sim"])
        #expect(calls.map { $0["cost_usd"] } == [.null, "0.000123456", "0.000123456"])
        #expect(Set(calls.dropFirst().compactMap { $0["turn_id"]?.string }) == Set(said.map { "\($0.turnID)" }))
        #expect(try await export.modelCalls(caller, nil, 100).map(\.json) == calls)

        let levels = try await export.rows(caller, .safetyStates, nil, 10).map(\.json)
        #expect(levels.count == 1 && levels[0]["level"]?.integer == 2 && levels[0]["persona_id"] == .null)
        let events = try await export.rows(caller, .crisisEvents, nil, 10).map(\.json)
        #expect(events.count == 2 && events[0]["category"] == "suicide" && events[0]["account_id"] == nil)
        let limits = try await export.rows(caller, .limits, nil, 10).map(\.json)
        #expect(limits.count == 1 && limits[0]["messages"]?.integer != nil)
    }
}
