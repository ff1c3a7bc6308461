import Foundation
import TestSupport
import Testing

@Suite("Rolling summaries", .paced)
struct SummaryTests {
    /// A message of about 1,500 tokens: with its answer, two fit into a history of 3,000 and three do not.
    private func long(_ mark: String, _ text: String = "Noted.") -> String {
        "\(mark) \(String(repeating: "I think about my work a lot. ", count: 210)) \(sim(["text": text]))"
    }

    private func jobs(_ stage: Stage, of user: String) async throws -> Int {
        try await stage.database.row("select count(*) as n from gateway.jobs where user_id = '\(user)' and kind = 'summarise_conversation'")
            .number("n") ?? -1
    }

    @Test("replace what no longer fits into the prompt, are billed as their own call, and used by the next turn")
    func summary() async throws {
        let stage = try await Stage.shared()
        let user = stage.testUser()
        let mark = marker()
        let first = try await user.say(long("first \(mark)"))
        let conversation = try #require(first.first("start")?["conversation_id"])
        for name in ["second", "third", "fourth"] {
            expectDone(try await user.say(long("\(name) \(mark)", "They want to change \(name) work."), ["conversation_id": conversation]))
        }
        try await eventually("the summary") { try await jobs(stage, of: user.id) == 0 }
        let made = try await stage.database.row(
            "select summary, summarised_through_seq as through, last_seq from conversations where id = '\(conversation)'")
        let through = try #require(made.number("through"))
        #expect(
            through > 0 && through % 2 == 0 && through < made.number("last_seq") ?? 0, "cut before a user's message, the newest turn kept")
        let calls = try await stage.database.rows("select * from model_calls where user_id = '\(user.id)' and purpose = 'summary'")
        #expect(!calls.isEmpty && calls.allSatisfy { $0.number("call") ?? 0 > 1 && !$0.isNull("cost_usd") })
        let money = try await stage.database.row(
            """
            select (select sum(spent_usd) from budgets where user_id = '\(user.id)')
                = (select sum(cost_usd) from model_calls where user_id = '\(user.id)') as balanced
            """)
        #expect(money.flag("balanced") == true)
        let asked = try #require(
            try await stage.simulator.requests(containing: "first \(mark)").first { $0.system.contains("notes that a coach") })
        #expect(asked.messages.last?.content.contains("<messages>\nPerson: first \(mark)") == true)

        let next = marker()
        expectDone(try await user.say("And now? \(next) \(sim(["words": 2]))", ["conversation_id": conversation]))
        let prompt = try #require(try await stage.simulator.requests(containing: next).last)
        #expect(prompt.system.contains("<conversation_summary>\n\(made["summary"] ?? "-")\n</conversation_summary>"))
    }

    @Test("are not made once the consent `memory` is refused, nor of ephemeral conversations")
    func off() async throws {
        let stage = try await Stage.shared()
        let (refusing, other) = (stage.testUser(), stage.testUser())
        #expect(try await refusing.send("PUT", "/api/v1/me/consents/memory", ["granted": false, "version": "1"]).status == 200)
        let ephemeral = try await other.send("POST", "/api/v1/conversations", ["ephemeral": true])
        var ids: [String: String] = [other.id: try #require(ephemeral.data["id"])]
        for user in [refusing, other] {
            for _ in 0..<4 {
                let answer = try await user.say(long("x"), ids[user.id].map { ["conversation_id": $0] } ?? [:])
                expectDone(answer)
                ids[user.id] = answer.first("start")?["conversation_id"]
            }
            #expect(try await jobs(stage, of: user.id) == 0)
            let calls = try await stage.database.rows(
                "select 1 as one from usage_logs where purpose = 'summary' and conversation_id = '\(ids[user.id] ?? "")'")
            #expect(calls.isEmpty)
        }
    }
}
