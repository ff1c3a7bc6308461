import CoachCore
import CoachStore
import PostgresClient
import TestSupport

extension RollupTests {
    /// Every row of every rollup, in an order of its own. Sums that came to zero are no rows of a rebuilt one.
    func everything(_ store: StoreFixture) async throws -> [String] {
        let parts = [
            "usage_quarters", "usage_hours", "usage_days", "key_quarters", "key_hours", "key_days", "key_weeks", "persona_quarters",
            "persona_days",
            "account_usage_days", "account_days",
        ].map {
            "select '\($0) ' || to_jsonb(t)::text from gateway.\($0) t where (t.calls, t.attempts, t.cost_nanodollars, t.failed_calls) <> (0, 0, 0, 0)"
        }
        let others = [
            "latency_quarters": "histogram <> 0", "latency_hours": "histogram <> 0", "latency_days": "histogram <> 0",
            "domain_latency_quarters": "histogram <> 0", "domain_latency_hours": "histogram <> 0", "error_quarters": "errors <> 0",
            "error_days": "errors <> 0", "retention_weeks": "accounts <> 0", "account_weeks": "is_active",
            "activity_days": "(active, weekly_change, monthly_change, conversations) <> (0, 0, 0, 0)", "conversation_days": "true",
        ].map { "select '\($0.key) ' || to_jsonb(t)::text from gateway.\($0.key) t where \($0.value)" }
        return try await store.admin.query(Query(unsafeSQL: (parts + others).joined(separator: " union all ") + " order by 1")) { rows in
            try rows.map { row in try row.value(0) }
        }
    }

    /// Days of turns with failures, estimates, corrections of cost, domain and model, and receipts that come late.
    func talk(_ store: StoreFixture, _ callers: [Caller], _ random: inout SeededGenerator) async throws {
        let turns = store.turns()
        for _ in 0..<40 {
            let caller = callers[Int.random(in: 0..<callers.count, using: &random)]
            let identity = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
            if Int.random(in: 0..<3, using: &random) == 0 {
                // As if it had begun on an earlier day.
                let days = Int.random(in: 0..<40, using: &random)
                try await store.rewriteLedger(
                    """
                    update public.usage_logs set day = day - \(days)::integer, booked_at = booked_at - make_interval(days => \(days)::integer)
                    where turn_id = \(identity.turnID.uuid)
                    """)
                try await store.admin.execute(
                    """
                    update public.turns set day = day - \(days)::integer, created_at = created_at - make_interval(days => \(days)::integer)
                    where id = \(identity.turnID.uuid)
                    """)
                try await store.admin.execute(
                    "update gateway.running_turns set day = day - \(days)::integer where turn_id = \(identity.turnID.uuid)")
            }
            if Int.random(in: 0..<2, using: &random) == 0 { _ = try await store.value("select gateway.fold_rollups(7)::text") }
            if Int.random(in: 0..<5, using: &random) == 0 {
                try await turns.finish(.failed(identity, of: caller))
                continue
            }
            var receipt = TurnReceipt.complete(
                identity, of: caller, domain: ([.mindset, .fitness, nil] as [Domain?]).randomElement(using: &random) ?? nil,
                cost: Int.random(in: 0..<4, using: &random) == 0 ? nil : Nanodollars(.random(in: 0..<1_000_000, using: &random)))
            receipt.timeToFirstTokenMilliseconds = 100 + Int.random(in: 0..<900, using: &random)
            receipt.durationMilliseconds = 2_000 + Int.random(in: 0..<9_000, using: &random)
            if Int.random(in: 0..<4, using: &random) == 0 {
                let name = ModelName(provider: "other", model: "m")
                receipt.otherCalls = [
                    BilledCall(number: 2, purpose: .judge, name: name, bill: receipt.bill), BilledCall(number: 3, name: name, bill: nil),
                ]
            }
            if Int.random(in: 0..<3, using: &random) == 0 {
                receipt.finalizedBy = .recovery
                try await turns.finish(receipt)
                if Int.random(in: 0..<2, using: &random) == 0 { _ = try await store.value("select gateway.fold_rollups(3)::text") }
                receipt.finalizedBy = .owner
                receipt.bill?.name.model = "coach-sim-2"
                receipt.bill?.cost = Nanodollars(.random(in: 0..<1_000_000, using: &random))
                receipt.domain = DomainDecision(domain: .leadership, confidence: 0.9, source: .message)
            }
            try await turns.finish(receipt)
        }
    }
}
