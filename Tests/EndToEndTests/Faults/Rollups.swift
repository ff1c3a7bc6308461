extension Database {
    /// The rows of all rollups that count anything, as text.
    func rollups() async throws -> [Substring] {
        let figures = [
            "usage_quarters", "usage_hours", "usage_days", "key_quarters", "key_hours", "key_days", "key_weeks", "persona_quarters",
            "persona_days",
            "account_usage_days", "account_days",
        ].map { ($0, "(t.calls, t.attempts, t.cost_nanodollars) <> (0, 0, 0)") }
        let histograms = ["latency_quarters", "latency_hours", "latency_days", "domain_latency_quarters", "domain_latency_hours"]
            .map { ($0, "t.histogram <> 0") }
        let others = [
            ("error_quarters", "t.errors <> 0"), ("error_days", "t.errors <> 0"), ("retention_weeks", "t.accounts <> 0"),
            ("account_weeks", "t.is_active"),
            ("activity_days", "(t.active, t.weekly_change, t.monthly_change, t.conversations) <> (0, 0, 0, 0)"),
            ("conversation_days", "true"),
        ]
        let parts = (figures + histograms + others).map { table, counts in
            "select '\(table) ' || to_jsonb(t)::text as line from gateway.\(table) t where \(counts)"
        }
        return try await fresh.psql(parts.joined(separator: " union all ") + " order by 1").split(separator: "\n")
    }
}
