import CoachCore
import CoachStore
import JSON
import PostgresClient
import Testing

/// Rules that exist in SQL as well as in Swift, because both need them.
@Suite("Rules of SQL and Swift")
struct SharedRuleTests {
    @Test(
        "estimate the same tokens",
        arguments: [
            "", "a", "abcd", "abcde", "Breathe in slowly, and out again.", "Größe, Übung, süß", "привет, как дела?", "Ελληνικά", "שלום",
            "你好，世界",
            "こんにちは", "안녕하세요", "🌱", "👩‍👩‍👧‍👦 🏳️‍🌈", "e\u{301}", "\u{2028}\u{85}", "日本語 and English, und Grüße 💛",
            String(repeating: "Wärme 🌱 ", count: 500),
        ])
    func tokens(text: String) async throws {
        let store = try await StoreFixture.shared()
        #expect(try await store.count("select gateway.estimate_tokens(\(text))") == TokenEstimate.tokens(in: text.utf8))
    }

    @Test("count the same tokens beside a message's content")
    func perMessage() async throws {
        #expect(try await StoreFixture.shared().count("select gateway.tokens_per_message()") == TokenEstimate.perMessage)
    }

    @Test("store the same level for a tier of danger", arguments: RiskTier.allCases)
    func level(tier: RiskTier) async throws {
        let level = try await StoreFixture.shared().count("select gateway.level_of_tier(\(tier.rawValue))")
        #expect(level == SafetyFusion.level(of: tier).rawValue)
    }

    @Test("make a text of the same length of a persona's setting, at most what a prompt takes", arguments: [0, 1])
    func settingLength(excess: Int) async throws {
        let texts = Array(repeating: String(repeating: "é", count: 78), count: 48) + [String(repeating: "x", count: 160 + excess)]
        let list = "[\(texts.map { "\"\($0)\"" }.joined(separator: ","))]"
        let object = "{\"ab\":\"\(String(repeating: "é", count: 3_996 + excess))\"}"
        for setting in [list, object] {
            let length = try await StoreFixture.shared().count("select char_length(gateway.prompt_text(\(setting)::jsonb))")
            #expect(length == PersonaContent.settingLimit + excess)
            let body = try JSONDocument(parsing: Array(#"{"name":"Ada","tone":\#(setting)}"#.utf8)).value
            let findings = JSONReader.collect(body) { (body) throws(JSONFinding) in try PersonaContent(body) }.findings
            #expect(findings.map(\.path) == (excess == 0 ? [] : ["tone"]))
        }
    }

    @Test("know the same reasons for an answer's end")
    func finishReasons() async throws {
        let names = try await StoreFixture.shared().value("select array_to_string(enum_range(null::public.finish_reason), ',')")
        #expect(names == FinishReason.allCases.map(\.rawValue).joined(separator: ","))
    }
}
