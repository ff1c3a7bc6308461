import CoachCore
import CoachStore
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

    @Test("know the same reasons for an answer's end")
    func finishReasons() async throws {
        let names = try await StoreFixture.shared().value("select array_to_string(enum_range(null::public.finish_reason), ',')")
        #expect(names == FinishReason.allCases.map(\.rawValue).joined(separator: ","))
    }
}
