extension TableExpectation {
    static let every = all + figures

    /// Rollups and alerts: written and read by functions with their owner's rights alone. Values to insert, and a column to update.
    private static let statements: [String: (values: String, column: String)] = [
        "figures": ("default values", "calls"),
        "usage_quarters": ("(bucket, tier) values (now(), '')", "calls"),
        "usage_hours": ("(bucket, tier) values (now(), '')", "calls"),
        "usage_days": ("(day, tier) values (now(), '')", "calls"),
        "key_quarters": ("(bucket, key) values (now(), '')", "calls"),
        "key_hours": ("(bucket, key) values (now(), '')", "calls"),
        "key_days": ("(day, key) values (now(), '')", "calls"),
        "key_weeks": ("(week, key) values (now(), 'persona_tier')", "calls"),
        "persona_quarters": ("(bucket, tier) values (now(), '')", "calls"),
        "persona_days": ("(day, tier) values (now(), '')", "calls"),
        "account_usage_days": ("(day, account_id, tier) values (now(), gen_random_uuid(), '')", "calls"),
        "account_days": ("(account_id, day) values (gen_random_uuid(), now())", "calls"),
        "conversation_days": ("values (gen_random_uuid(), now(), gen_random_uuid())", "day"),
        "activity_days": ("(day) values (now())", "active"),
        "retention_weeks": ("values (now(), now())", "accounts"),
        "account_weeks": ("values (now(), now(), gen_random_uuid(), true)", "is_active"),
        "error_quarters": ("values (now(), '', '')", "errors"),
        "error_days": ("values (now(), '', '')", "errors"),
        "latency_quarters": ("values (now(), '', '', 'first_token')", "turns"),
        "latency_hours": ("values (now(), '', '', 'first_token')", "turns"),
        "latency_days": ("values (now(), '', '', null, 'first_token')", "turns"),
        "domain_latency_quarters": ("values (now(), null, 'first_token')", "turns"),
        "domain_latency_hours": ("values (now(), null, 'first_token')", "turns"),
        "rollup_state": ("default values", "as_of"),
        "rollup_marks": ("values (now(), '1')", "at"),
        "subscription_figures": ("default values", "active"),
        "subscription_changes": ("(store, purchase, at) values ('', '', now())", "active"),
        "subscription_rollup": ("(is_day, bucket) values (true, now())", "active"),
        "alerts": ("(rule, measure, severity, threshold, value) values ('', '', '', 0, 0)", "value"),
        "circuit_readings": ("values (gen_random_uuid(), '', '', 'open')", "at"),
        "instance_readings": ("values (gen_random_uuid(), '', 0)", "value"),
    ]

    private static let figures: [TableExpectation] = statements.map { table, statement in
        .init(
            name: "gateway.\(table)", allowed: [:], insert: "insert into gateway.\(table) \(statement.values)",
            update: "set \(statement.column) = \(statement.column)")
    }
}
