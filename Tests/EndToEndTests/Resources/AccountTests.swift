import Foundation
import TestSupport
import Testing

@Suite("A user's own data over REST", .paced)
struct AccountTests {
    private static let profile = "/api/v1/context-profile"

    @Test("the account is read and changed; all invalid fields are reported at once")
    func account() async throws {
        let user = try await TestBed.shared().testUser()
        #expect(try await user.send("GET", "/api/v1/me").data["id"] == user.id)
        let changed = try await user.send(
            "PATCH", "/api/v1/me",
            ["displayName": "Zoë", "locale": "en-GB", "country": "gb", "time_zone": "Europe/London", "is_minor": false])
        #expect(changed.status == 200, "\(changed.text)")
        #expect(changed.data["display_name"] == "Zoë" && changed.data["country"] == "GB" && changed.data.flag("is_minor") == false)
        let wrong = try await user.send(
            "PATCH", "/api/v1/me",
            ["display_name": "", "locale": "no locale", "country": "GBR", "time_zone": "Mars/Base", "is_minor": "no"])
        #expect(wrong.status == 422 && wrong.findingFields == ["display_name", "locale", "country", "time_zone", "is_minor"])
        #expect(try await user.send("PATCH", "/api/v1/me", ["locale": NSNull()]).data.isNull("locale"))
    }

    @Test("usage counts turns, and the domains are the current ones, without their prompts")
    func usageAndDomains() async throws {
        let user = try await TestBed.shared().testUser()
        let counts = ["prompt_tokens": 1_000, "cached_tokens": 300, "completion_tokens": 50, "reasoning_tokens": 20]
        let answer = try await user.chat("Hello \(sim(["words": 2, "usage": counts]))")
        expectDone(answer)
        let usage = try await user.send("GET", "/api/v1/me/usage")
        #expect(usage.data.number("messages_today") == 1 && usage.data.object("month").number("turns") == 1, "\(usage.text)")
        let billed = try #require(answer.first("usage")).fields
        for (name, count) in ["input_tokens": 1_000, "cached_input_tokens": 300, "output_tokens": 50] {
            #expect(usage.data.object("month").number(name) == count && billed.number(name) == count, "\(name) \(usage.text)")
        }
        #expect(usage.data.object("month")["cost_usd"] == billed["cost_usd"])
        let domains = try await user.send("GET", "/api/v1/domains")
        #expect(domains.list.count == 7 && domains.list.allSatisfy { $0["name"] != nil && !$0.names.contains("system_prompt") })
    }

    @Test("of two devices that edit the same profile one gets 412 with the current version; undo restores the earlier one")
    func profile() async throws {
        let user = try await TestBed.shared().testUser()
        let empty = try await user.send("GET", Self.profile)
        #expect(empty.status == 200 && empty.data.number("version") == 0 && empty.headers["etag"] == "\"v0\"")
        #expect(try await user.send("PUT", Self.profile, ["goals": ["run"]]).status == 428)
        let tag = ["If-Match": "\"v0\""]
        let first = try await user.send("PUT", Self.profile, ["goals": ["run"], "values": [["text": "truth"]]], headers: tag)
        #expect(first.status == 200 && first.data.number("version") == 1, "\(first.text)")
        let stale = try await user.send("PUT", Self.profile, ["goals": ["swim"]], headers: tag)
        #expect(stale.status == 412 && stale.headers["etag"] == "\"v1\"")
        #expect(stale.error.object("details").object("current").texts("goals") == ["run"])
        let patched = try await user.send("PATCH", Self.profile, ["situation": ["new job"]], headers: ["If-Match": "\"v1\""])
        #expect(patched.data.texts("goals") == ["run"] && patched.data.texts("situation") == ["new job"])
        let replaced = try await user.send("PUT", Self.profile, ["goals": ["swim"]], headers: ["If-Match": "\"v2\""])
        #expect(replaced.data.texts("situation").isEmpty)
        let undone = try await user.send("POST", "\(Self.profile)/undo", headers: ["If-Match": "\"v3\""])
        #expect(undone.data.number("version") == 4 && undone.data.texts("situation") == ["new job"])
        let history = try await user.send("GET", "\(Self.profile)/history?limit=2")
        #expect(history.list.map { $0.number("version") } == [4, 3])
        let cursor = try #require(history.json.object("pagination")["next_cursor"])
        #expect(try await user.send("GET", "\(Self.profile)/history?cursor=\(cursor)").list.map { $0.number("version") } == [2, 1])
        let word = marker()
        _ = try await user.chat("Hello \(word) \(sim(["words": 1]))")
        #expect(try await TestBed.shared().simulator.requests(containing: word).last?.system.contains("new job") == true)
    }

    @Test("an invalid profile is rejected with all findings")
    func wrongProfile() async throws {
        let user = try await TestBed.shared().testUser()
        let headers = ["If-Match": "*"]
        let answer = try await user.send(
            "PUT", Self.profile,
            ["values": "x", "goals": [1, "", ["note": "no text"]], "situation": (0..<51).map { "\($0)" }], headers: headers)
        #expect(answer.status == 422)
        #expect(answer.findingFields == ["values", "goals[0]", "goals[1]", "goals[2].text", "situation"], "\(answer.text)")
        let long = try await user.send(
            "PUT", Self.profile, ["goals": (0..<50).map { "\($0)" + String(repeating: "x", count: 450) }], headers: headers)
        #expect(long.status == 422 && long.findingFields == ["goals"])
        #expect(try await user.send("POST", "\(Self.profile)/undo", headers: headers).status == 404)
        for query in ["limit=0", "cursor=x", "cursor=-5"] {
            #expect(try await user.send("GET", "\(Self.profile)/history?\(query)").status == 422, "\(query)")
        }
        let nul = try await user.browser.send("PUT", Self.profile, body: Array(#"{"goals":["a\u0000"]}"#.utf8), headers: headers)
        #expect(nul.status == 422 && nul.errorCode == "VAL_3001")
    }

    @Test("consents are listed with their latest decision, and without memory consent the profile can only be emptied")
    func consents() async throws {
        let testBed = try await TestBed.shared()
        let user = testBed.testUser()
        let path = "/api/v1/me/consents"
        #expect(try await user.send("GET", path).list.map { $0["kind"] } == ["ai_processing", "memory", "disclaimer"])
        #expect(try await user.send("PUT", Self.profile, ["goals": ["secret goal"]], headers: ["If-Match": "*"]).status == 200)
        let refused = try await user.send("PUT", "\(path)/memory", ["granted": false, "version": "2026-01"])
        #expect(refused.status == 200 && refused.data.flag("granted") == false && refused.data.flag("required") == false)
        let edit = try await user.send("PATCH", Self.profile, ["goals": ["secret goal", "another"]], headers: ["If-Match": "*"])
        #expect(edit.status == 403 && edit.errorCode == "BIZ_2006" && edit.error["action"] == "consent")
        #expect(edit.error.object("details").texts("consents") == ["memory"])
        let word = marker()
        _ = try await user.chat("Hello \(word) \(sim(["words": 1]))")
        #expect(try await testBed.simulator.requests(containing: word).last?.system.contains("secret goal") == false)
        let emptied = try await user.send("PATCH", Self.profile, ["goals": []], headers: ["If-Match": "*"])
        #expect(emptied.status == 200 && emptied.data.texts("goals").isEmpty, "\(emptied.text)")
        for (kind, body, status) in [
            ("memory", ["granted": "yes"], 422), ("memory", [:], 422), ("nonsense", ["granted": true, "version": "1"], 404),
        ] as [(String, [String: Any], Int)] {
            #expect(try await user.send("PUT", "\(path)/\(kind)", body).status == status)
        }
    }

    @Test("chat needs the required consents, but a message at risk gets the fixed text and resources without a model")
    func required() async throws {
        let testBed = try await TestBed.shared()
        let gateway = try await testBed.anotherGateway(["COACH_REQUIRE_CONSENT": "ai_processing, memory"])
        defer { withExtendedLifetime(gateway) {} }
        let (user, word) = (gateway.testUser(), marker())
        #expect(try await user.send("PUT", Self.profile, ["goals": ["x"]], headers: ["If-Match": "*"]).errorCode == "BIZ_2006")
        let refused = try await user.chat("Hello \(word) \(sim(["words": 1]))", headers: ["Accept": "application/json"])
        #expect(refused.status == 403 && refused.errorCode == "BIZ_2006", "\(refused.text)")
        let messages = [["role": "user", "content": "Hello \(word)"]]
        #expect(try await user.send("POST", "/v1/chat/completions", ["model": "coach", "messages": messages]).status == 403)
        #expect(try await user.send("POST", "/v1/responses", ["model": "coach", "input": "Hello \(word)"]).status == 403)
        let danger = try await user.chat("I want to kill myself \(word)")
        #expect(danger.eventTypes == ["start", "safety", "token", "usage", "done"] && danger.first("done")?["finish_reason"] == "safety")
        #expect(try await testBed.simulator.requests(containing: word).isEmpty)
        for kind in ["ai_processing", "memory"] {
            #expect(
                try await user.send("PUT", "/api/v1/me/consents/\(kind)", ["granted": true, "version": "1"]).data.flag("required") == true)
        }
        expectDone(try await user.chat("Hello \(sim(["words": 1]))"))
        #expect(try await user.send("PUT", Self.profile, ["goals": ["x"]], headers: ["If-Match": "*"]).status == 200)
    }

    @Test("one consent alone can be required, and the rejection names it")
    func requiredAlone() async throws {
        let gateway = try await TestBed.shared().anotherGateway(["COACH_REQUIRE_CONSENT": "disclaimer"])
        defer { withExtendedLifetime(gateway) {} }
        let user = gateway.testUser()
        let refused = try await user.chat("Hello \(sim(["words": 1]))", headers: ["Accept": "application/json"])
        #expect(refused.status == 403 && refused.errorCode == "BIZ_2006", "\(refused.text)")
        #expect(refused.text.contains(#""consents":["disclaimer"]"#), "\(refused.text)")
        #expect(try await user.send("PUT", "/api/v1/me/consents/disclaimer", ["granted": true, "version": "1"]).status == 200)
        expectDone(try await user.chat("Hello \(sim(["words": 1]))"))
    }

    @Test("an answer is reported once; another user's cannot be")
    func reports() async throws {
        let (user, other) = (try await TestBed.shared().testUser(), try await TestBed.shared().testUser())
        let message = try #require(try await user.chat("Hello \(sim(["words": 1]))").first("done")?["message_id"])
        let body = ["message_id": message, "reason": "harmful", "comment": "It was unkind."]
        let first = try await user.send("POST", "/api/v1/reports", body, headers: ["Idempotency-Key": "r"])
        let second = try await user.send("POST", "/api/v1/reports", body, headers: ["Idempotency-Key": "r"])
        #expect(first.status == 201 && second.data["id"] == first.data["id"])
        #expect(try await TestBed.shared().database.rows("select id from reports where user_id = '\(user.id)'").count == 1)
        #expect(try await other.send("POST", "/api/v1/reports", body).status == 404)
        let wrong = try await user.send("POST", "/api/v1/reports", ["reason": "rude", "comment": 1])
        #expect(wrong.findingFields == ["reason", "comment", "persona_id"])
    }

    @Test("a second device synchronizes the first one's changes")
    func sync() async throws {
        let user = try await TestBed.shared().testUser()
        let conversation = try #require(try await user.chat("Hello \(sim(["words": 1]))").first("start")?["conversation_id"])
        _ = try await user.send("PUT", Self.profile, ["goals": ["x"]], headers: ["If-Match": "*"])
        var types: [String?] = []
        var next: String?
        repeat {
            let page = try await user.send("GET", "/api/v1/sync?limit=2" + (next.map { "&since=\($0)" } ?? ""))
            #expect(page.status == 200 && page.data.flag("reset") == false, "\(page.text)")
            // Other tests change personas.
            types += page.data.objects("changes").map { $0["type"] }.filter { $0?.hasPrefix("persona") == false }
            next = page.data["next"]
            if page.data.flag("has_more") == false { break }
        } while true
        #expect(Set(types) == ["conversation", "message", "profile"] && types.count == 4)
        #expect(try await user.send("DELETE", "/api/v1/conversations/\(conversation)").status == 200)
        let gone = try await user.send("GET", "/api/v1/sync?since=\(try #require(next))").data.objects("changes")
            .filter { $0["type"] == "conversation" }
        #expect(gone.count == 1 && gone[0].object("conversation")["deleted_at"] != nil)
        for query in ["since=x", "since=", "limit=1000"] {
            #expect(try await user.send("GET", "/api/v1/sync?\(query)").status == 422, "\(query)")
        }
    }

    @Test("messages are found by their words; an invalid query is rejected")
    func search() async throws {
        let user = try await TestBed.shared().testUser()
        expectDone(try await user.chat("My sister moved to Lisbon \(sim(["words": 2]))"))
        for words in ["lisbon%20sister", "lisbon+sister"] {
            let found = try await user.send("GET", "/api/v1/messages/search?q=\(words)")
            #expect(found.list.count == 1 && found.list[0].object("message")["content"]?.contains("Lisbon") == true, "\(found.text)")
        }
        let found = try await user.send("GET", "/api/v1/messages/search?q=lisbon")
        #expect(found.list[0]["conversation_id"] != nil)
        for query in ["", "?q=", "?q=a%00b", "?q=\(String(repeating: "a", count: 201))", "?q=a&cursor=x", "?q=a&limit=0"] {
            #expect(try await user.send("GET", "/api/v1/messages/search\(query)").status == 422, "\(query)")
        }
        for query in ["%27", "%22", "%26%7C%21", "%F0%9F%92%9B", "%FF"] {
            #expect(try await user.send("GET", "/api/v1/messages/search?q=\(query)").status == 200, "\(query)")
        }
    }

    @Test("the export is a ZIP that standard tools read, with the user's messages and no others")
    func export() async throws {
        let testBed = try await TestBed.shared()
        let (user, other, word, foreign) = (testBed.testUser(), testBed.testUser(), marker(), marker())
        for number in 0..<3 { expectDone(try await user.chat("Message \(number) \(word) \(sim(["words": 3]))")) }
        expectDone(try await other.chat("Secret \(foreign) \(sim(["words": 1]))"))
        _ = try await user.send("PUT", Self.profile, ["goals": ["Zoë's goal"]], headers: ["If-Match": "*"])
        for granted in [true, false] {
            _ = try await user.send("PUT", "/api/v1/me/consents/disclaimer", ["granted": granted, "version": "1"])
        }
        let found = try #require(try await user.send("GET", "/api/v1/conversations").list.first?["id"])
        let said = try await user.send("GET", "/api/v1/conversations/\(found)/messages").list.first { $0["role"] == "assistant" }
        let report = ["message_id": try #require(said?["id"]), "reason": "other", "comment": "not kind"]
        #expect(try await user.send("POST", "/api/v1/reports", report).status == 201)
        let answer = try await user.send("GET", "/api/v1/me/export")
        #expect(answer.status == 200 && answer.headers["content-type"] == "application/zip")
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).zip")
        try Data(answer.body).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let script = """
            import json, sys, zipfile
            z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None
            print(json.dumps({n: [json.loads(l) for l in z.read(n).decode().splitlines()] for n in z.namelist()}))
            """
        let files = JSONObject(try ChildProcess.run(["python3", "-c", script, file.path]))
        #expect(files.names == Set((ExportedTables.files.values.joined() + ExportedTables.others).map { "\($0).jsonl" }))
        #expect(files.objects("turns.jsonl").count == 3 && files.objects("model-calls.jsonl").count >= 3)
        #expect(files.objects("consents.jsonl").map { $0.flag("granted") } == [true, false])
        #expect(files.objects("subscription.jsonl").map { $0.flag("active") } == [false] && !files.objects("usage.jsonl").isEmpty)
        #expect(files.objects("reports.jsonl").map { $0["comment"] } == ["not kind"])
        #expect(files.objects("account.jsonl").map { $0["id"] } == [user.id])
        #expect(files.objects("context-profile.jsonl").first?.texts("goals") == ["Zoë's goal"])
        let messages = files.objects("messages.jsonl").map { $0.object("message") }
        #expect(messages.count == 6 && messages.count { $0["content"]?.contains(word) == true } == 3)
        #expect(!String(decoding: answer.body, as: UTF8.self).contains(foreign))
        let conversations = files.objects("conversations.jsonl").compactMap { $0["id"] }
        #expect(conversations.count == 3)
        #expect(Set(files.objects("messages.jsonl").compactMap { $0["conversation_id"] }) == Set(conversations))
    }

    @Test("every table about users is in the export, or is known not to be")
    func exportedTables() async throws {
        let tables = try await TestBed.shared().database.rows(
            """
            select distinct format('%s.%s', n.nspname, c.relname) as name
            from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
            where n.nspname in ('public', 'gateway') and c.relkind in ('r', 'p') and not a.attisdropped
                and (a.attname in ('user_id', 'account_id', 'actor_id', 'author') or c.relname = 'users')
            """)
        #expect(Set(tables.compactMap { $0["name"] }) == ExportedTables.left.union(ExportedTables.files.keys))
    }
}
