import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

/// What tests of summaries share.
protocol SummaryBench {}

extension SummaryBench {
    func summaries(
        _ store: StoreFixture, consents: RequiredConsents = RequiredConsents(), _ tiers: TierBook = TierBook()
    ) -> SummaryRepository {
        .postgres(client: store.gateway, consents: consents) { tiers }
    }

    /// A conversation of so many turns, each with 50 tokens of question and the answer's 25 (`TurnReceipt.complete`), and the request for its summary.
    func conversation(_ store: StoreFixture, _ caller: Caller, turns count: Int = 6) async throws -> SummaryRequest {
        let turns = store.turns()
        var last: TurnIdentity?
        for number in 1...count {
            last = try await turns.talk(
                caller, "Question \(number) \(String(repeating: "word ", count: 38))", in: last?.conversationID, answer: "Answer \(number)")
        }
        let identity = try #require(last)
        return SummaryRequest(conversationID: identity.conversationID, turnID: identity.turnID, attempt: identity.attempt, tokens: 200)
    }

    func receipt(_ request: SummaryRequest, _ task: SummaryTask, _ text: String) -> SummaryReceipt {
        let bill = TurnBill(
            name: ModelName(provider: "sim", model: "m"),
            usage: TokenUsage(input: 10, cachedInput: 0, cacheWrite: 0, output: 5, reasoning: 0),
            cost: Nanodollars(700), estimated: false)
        return SummaryReceipt(
            request: request, task: task, summary: text,
            calls: [
                BilledCall(number: task.call, purpose: .summary, name: bill.name, bill: bill)
            ])
    }

    func state(_ store: StoreFixture, _ request: SummaryRequest) async throws -> String? {
        try await store.value(
            """
            select concat_ws('|', coalesce(summary, '-'), summarised_through_seq) from public.conversations
            where id = \(request.conversationID.uuid)
            """)
    }

    func rows(_ store: StoreFixture, _ request: SummaryRequest) async throws -> String? {
        try await store.value(
            """
            select string_agg(concat_ws('|', call, revision, purpose, coalesce(cost_usd::text, '-')), ' ' order by call, revision)
            from public.usage_logs where turn_id = \(request.turnID.uuid) and purpose = 'summary'
            """)
    }
}
