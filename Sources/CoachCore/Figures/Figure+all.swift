extension Figure {
    /// The figures that have a period.
    public static let all = [costs, usage, retention, domains, latency, providers, errors, safety, subscriptions]

    /// CONTRACT §5.
    public static let costs = Figure(
        "costs",
        "Tokens and cost of all users by group; input tokens include cached ones and those written to a cache, output tokens reasoning",
        groups: ["day", "model", "provider", "domain", "persona", "user", "tier"],
        traceList: calls.path, needsUTCDays: { $0.contains("user") },
        paging: { groups in
            if groups.contains("user") { return .function("user_costs") }
            if groups.contains("persona"), !groups.contains("day"), groups.count > 1 { return .function("persona_costs") }
            // There may be more buckets than fill a page.
            return groups.contains("day") && groups.count > 1 ? .function("cost_page") : .ofAll
        },
        columns: [
            .key("day", .time), .key("model"), .key("provider"), .key("domain", .domain), .key("persona_id", .id), .key("user_id", .id),
            .key("tier"),
            .measure("turns"), .measure("input_tokens", isNullable: true), .measure("cached_input_tokens", isNullable: true),
            .measure("output_tokens", isNullable: true), .measure("cost_usd", .money, isNullable: true), .measure("unpriced_turns"),
        ])

    static let usage = Figure(
        "usage",
        "Active users, conversations, messages and errors by UTC day, or by whole weeks, for which conversations are null",
        groups: ["day"], by: ["day"], traceList: calls.path, needsUTCDays: { _ in true }, countsWholeWeeks: true,
        columns: [
            .key("day", .time, isNullable: false), .measure("active_users"), .measure("weekly_active_users"),
            .measure("monthly_active_users"), .measure("conversations", isNullable: true), .measure("messages"),
            .measure("messages_per_conversation", .number, isNullable: true), .measure("turns"), .measure("errors"),
        ])

    static let retention = Figure(
        "usage/retention",
        "Users by the week of their first message, and how many wrote in the weeks after it",
        function: "retention", traceList: retentionUsers.path, needsUTCDays: { _ in true },
        columns: [
            .key("cohort", .time, isNullable: false), .key("week", .integer, isNullable: false), .measure("users"),
            .measure("cohort_users"),
            .measure("share", .number),
        ])

    static let domains = Figure(
        "domains",
        "Turns, confidence, abstentions, latency and cost by domain; null is the generic answer",
        groups: ["day", "domain"], by: ["day", "domain"], traceList: calls.path, paging: pagesOfBuckets,
        columns: joined(
            [
                .key("day", .time), .key("domain", .domain), .measure("turns"), .measure("share", .number, isNullable: true),
                .measure("confidence", .number, isNullable: true), .measure("abstentions"),
            ], percentiles("first_token", [50, 95]), [.measure("cost_usd", .money, isNullable: true), .measure("unpriced_turns")]))

    static let latency = Figure(
        "latency",
        "Milliseconds to the first token, per further token and of complete turns, by group; "
            + "domain with provider or model for UTC days only",
        groups: ["day", "provider", "model", "domain"], traceList: calls.path,
        needsUTCDays: { $0.contains("domain") && ($0.contains("provider") || $0.contains("model")) }, paging: pagesOfBuckets,
        columns: joined(
            [.key("day", .time), .key("provider"), .key("model"), .key("domain", .domain), .measure("turns")],
            percentiles("first_token", [50, 90, 95, 99]), percentiles("per_token", [50, 90, 95, 99]),
            percentiles("whole_turn", [50, 90, 95, 99])))

    static let providers = Figure(
        "providers",
        "Calls, errors and latency by provider; the errors include those that another provider's answer healed",
        groups: ["day", "provider", "model"], by: ["provider"], traceList: calls.path, paging: pagesOfBuckets,
        columns: joined(
            [
                .key("day", .time), .key("provider"), .key("model"), .measure("calls"), .measure("errors"),
                .measure("error_share", .number, isNullable: true),
            ], percentiles("first_token", [50, 95]), percentiles("per_token", [50]), percentiles("whole_turn", [95]), [.key("breaker")]))

    static let errors = Figure(
        "errors", "Attempts of turns that ended with an error, by code and day",
        groups: ["day", "code", "provider"], by: ["day", "code"], traceList: calls.path, traceFilter: ["error_code": CallQuery.anyError],
        columns: [
            .key("day", .time), .key("code"), .key("provider"), .measure("errors"), .measure("share", .number, isNullable: true),
        ])

    /// Leads to no call and no user (CONTRACT §5). By whole UTC days only: the counts of two periods that differ by a quarter of an hour, or by an
    /// hour of another time zone, would show one event.
    public static let safety = Figure(
        "safety",
        "Turns in which crisis services were shown, and turns of which sentences were replaced, by group; by whole UTC days; "
            + "counts under 5 are \"<5\"",
        groups: ["day", "tier", "category", "jurisdiction"], by: ["day", "tier", "category", "jurisdiction"],
        needsUTCDays: { _ in true }, paging: pagesOfBuckets,
        columns: [
            .key("day", .time), .key("tier", .integer), .key("category"), .key("jurisdiction"), .measure("referrals", .count),
            .measure("replaced", .count),
        ])

    /// Counts events of the stores, not rows of the ledger.
    static let subscriptions = Figure(
        "subscriptions", "Production purchases: how many are active at the end of each bucket, what happened in it, and revenue",
        groups: ["day"], by: ["day"], isOfBillingEvents: true,
        columns: joined(
            [.key("day", .time)],
            [
                "active", "trials", "new_trials", "new_purchases", "conversions", "renewals", "cancellations", "churned", "trials_lost",
                "refunds", "unpriced", "mrr_unpriced",
            ].map { .measure($0) },
            [.measure("revenue_usd", .money), .measure("refunded_usd", .money), .measure("mrr_usd", .money, isNullable: true)]))

    private static let pagesOfBuckets: @Sendable ([String]) -> Paging = { $0.contains("day") ? .byBuckets : .ofAll }

    private static func joined(_ parts: [FigureColumn]...) -> [FigureColumn] { parts.flatMap { $0 } }

    private static func percentiles(_ measure: String, _ percents: [Int]) -> [FigureColumn] {
        percents.map { .measure("\(measure)_p\($0)_ms", .number, isNullable: true) }
    }

    /// Users behind a row of `retention`, but for those who had no answer that a provider was paid for. Without `user_id`: removed since.
    public static let retentionUsers = Figure(
        "usage/retention/users",
        "List the users behind usage/retention: on which days of the week they had answers; "
            + "users without one are counted there and not listed",
        columns: [
            .key("cohort", .time, isNullable: false), .key("week", .integer, isNullable: false), .measure("user_id", .id, isNullable: true),
            .measure("days", .text), .measure("active_days"), .measure("turns"),
        ])

    /// Calls behind a row: ids, times and counts. Nothing tells who may be in danger (CONTRACT §5). `error`: they count as errors of their provider.
    public static let calls = Figure(
        "calls",
        "List the model calls behind a figure, newest day first; summaries have no turn; calls of the safety judge, and those that "
            + "failed before a fixed text, are sums of a day, without user and turn",
        columns: [
            .key("day"), .key("turn_id", .id), .key("attempt", .integer), .key("call", .integer), .measure("purpose", .text),
            .measure("user_id", .id, isNullable: true), .measure("conversation_id", .id, isNullable: true),
            .measure("persona_id", .id, isNullable: true), .measure("domain", .text, isNullable: true),
            .measure("tier", .text, isNullable: true), .measure("provider", .text, isNullable: true),
            .measure("model", .text, isNullable: true), .measure("calls"),
            .measure("input_tokens", isNullable: true), .measure("cached_input_tokens", isNullable: true),
            .measure("output_tokens", isNullable: true), .measure("cost_usd", .money, isNullable: true), .measure("unpriced", .flag),
            .measure("estimated", .flag), .measure("status", .text, isNullable: true), .measure("error_code", .text, isNullable: true),
            .measure("error", .flag), .measure("time_to_first_token_ms", isNullable: true), .measure("duration_ms", isNullable: true),
            .measure("started_at", .time),
            .measure("booked_at", .time),
        ])

    /// The circuit breakers of all instances that live: the worst state, and how many instances do not have it closed.
    public static let health = Figure(
        "providers/health", "List the circuit breakers by provider and model, over all instances",
        columns: [
            .key("provider", isNullable: false), .key("model", isNullable: false), .measure("breaker", .text), .measure("instances"),
            .measure("open_instances"),
        ])

    /// What rules of alerts compare with their thresholds.
    public static let measures = Figure(
        "measures", "List the present value of each measure of alert rules, with a window of an hour; null: there is nothing to measure",
        columns: [.key("measure", isNullable: false), .measure("value", .measured, isNullable: true)])

    /// Alerts, of the rules in the document `alert-rules`.
    public static let alerts = Figure(
        "alerts", "List alerts, newest first",
        columns: [
            .key("id", .integer), .measure("rule", .text), .measure("measure", .text), .measure("severity", .text),
            .measure("state", .text),
            .measure("value", .measured), .measure("threshold", .measured), .measure("started_at", .time),
            .measure("resolved_at", .time, isNullable: true),
        ])

    /// What users report; the comment is the reporter's.
    public static let reports = Figure(
        "reports", "List users' reports of personas and answers, newest first",
        columns: [
            .key("id", .id), .measure("created_at", .time), .measure("user_id", .id), .measure("persona_id", .id, isNullable: true),
            .measure("message_id", .id, isNullable: true), .measure("reason", .text), .measure("comment", .text, isNullable: true),
        ])
}
