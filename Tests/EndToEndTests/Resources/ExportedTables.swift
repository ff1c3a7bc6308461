/// The files of an export that have the rows of each table about users. A table that is missing here fails the test.
enum ExportedTables {
    static let files: [String: [String]] = [
        "public.users": ["account"], "public.context_profiles": ["context-profile"], "public.context_profile_history": ["context-profile"],
        "public.consents": ["consents"], "public.reports": ["reports"], "public.persona_redemptions": ["redemptions"],
        "public.conversations": ["conversations", "summaries"], "public.messages": ["messages"], "public.turns": ["turns"],
        "public.coaching_personas": ["personas", "deleted-personas", "cards"], "public.share_links": ["share-links"],
        "public.push_tokens": ["push-tokens"], "public.budgets": ["usage"], "public.usage_logs": ["model-calls"],
        "public.rate_limits": ["limits"], "public.safety_states": ["safety-states"], "gateway.crisis_events": ["crisis-events"],
        "gateway.user_entitlements": ["subscription"], "gateway.subscriptions": ["subscription"],
    ]

    /// Those that have a user's rows by a persona.
    static let others = ["persona-versions"]

    /// Tables whose rows are not exported.
    static let left: Set<String> = [
        // Made of what is exported.
        "public.message_words", "gateway.search_progress", "gateway.account_days", "gateway.account_usage_days", "gateway.account_weeks",
        "gateway.conversation_days",
        // Work that waits or runs, and what keeps it from running twice.
        "gateway.jobs", "gateway.done_jobs", "gateway.running_turns", "gateway.running_summaries", "gateway.idempotent_requests",
        "public.change_counters",
        // Hashes of secrets.
        "gateway.operator_sessions", "gateway.removal_confirmations", "gateway.push_token_owners",
        // What operators and creators did, for those who supervise them.
        "gateway.audit_log", "gateway.document_versions",
    ]
}
