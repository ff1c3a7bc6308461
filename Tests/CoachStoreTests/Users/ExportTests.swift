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
}
