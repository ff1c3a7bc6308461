/// What each actor may do with the owner's rows of one table, and the statements that try it.
struct TableExpectation: Sendable {
    var name: String
    /// `S`elect, `I`nsert, `U`pdate, `D`elete in this order, a dot where denied. An actor without an entry may do nothing.
    var allowed: [Actor: String]
    /// Inserts a row of the owner. It may violate keys and checks, because permissions are checked first.
    var insert: String
    /// An assignment that the owner may make; if the owner may make none, any assignment.
    var update: String
    /// The columns that role `authenticated` may insert and update.
    var insertable: Set<String> = []
    var updatable: Set<String> = []
    /// The columns that role `authenticated` may read of a table that it reads; nil: all.
    var readable: Set<String>?

    static let everybodySignedIn: [Actor: String] = [
        .owner: "S...", .creator: "S...", .postgrest: "S...", .other: "S...", .otherCreator: "S...", .operator: "S...",
    ]

    static let everyGateway: [Actor: String] = [
        .gateway: "S...", .gatewayForOther: "S...", .gatewayForNobody: "S...", .gatewayHalfBound: "S...",
    ]

    /// The owner, and the gateway for the owner.
    static func own(_ verbs: String, gateway: String) -> [Actor: String] {
        [.owner: verbs, .creator: verbs, .postgrest: verbs, .gateway: gateway]
    }

    /// All tables. A table that is missing here fails the test.
    static let all: [TableExpectation] = [
        // A user's own data, which they read and partly edit.
        .init(
            name: "public.users", allowed: own("S.U.", gateway: "SIU."),
            insert: "insert into public.users (id) values (:owner)", update: "set display_name = 'x'",
            updatable: ["display_name", "locale", "country", "time_zone", "is_minor"],
            // Not the reason of a suspension.
            readable: [
                "id", "account_id", "display_name", "locale", "country", "time_zone", "is_minor", "created_at", "updated_at",
                "suspended_at",
            ]),
        .init(
            name: "public.context_profiles", allowed: own("SIU.", gateway: "S..."),
            insert: "insert into public.context_profiles (user_id) values (:owner)", update: "set goals = '[]'",
            insertable: ["user_id", "values", "goals", "situation"],
            // With the key, which an upsert of PostgREST writes, too.
            updatable: ["user_id", "values", "goals", "situation", "restores"]),
        .init(
            name: "public.context_profile_history", allowed: own("S...", gateway: "...."),
            insert: "insert into public.context_profile_history values (:owner, 9, '[]', '[]', '[]', now())", update: "set goals = '[]'"),
        .init(
            name: "public.conversations", allowed: own("SIU.", gateway: "SIU."),
            insert: "insert into public.conversations (user_id) values (:owner)", update: "set title = 'x'",
            insertable: ["user_id", "id", "title", "domain", "persona_id", "ephemeral"], updatable: ["title", "domain", "deleted_at"]),
        .init(
            name: "public.push_tokens", allowed: own("SIUD", gateway: "...."),
            insert: "insert into public.push_tokens (user_id, token) values (:owner, 'x')", update: "set platform = 'ios'",
            insertable: ["user_id", "token", "platform", "environment"], updatable: ["user_id", "token", "platform", "environment"]),

        // The owner of a device: written by a trigger.
        .init(
            name: "gateway.push_token_owners", allowed: [:],
            insert: "insert into gateway.push_token_owners values ('', :owner)", update: "set user_id = user_id"),

        // Written by the gateway about a user, who only reads it.
        .init(
            name: "public.messages", allowed: own("S...", gateway: "SIU."),
            insert: """
                insert into public.messages (user_id, conversation_id, seq, role, content, token_count)
                values (:owner, gen_random_uuid(), 1, 'assistant', 'x', 1)
                """, update: "set content = 'x'"),
        .init(
            name: "public.turns", allowed: own("S...", gateway: "SIU."),
            insert: """
                insert into public.turns (user_id, conversation_id, user_message_id, seq, request_hash, conversation_named, tier, day)
                values (:owner, gen_random_uuid(), gen_random_uuid(), 1, '', false, 'free', now())
                """, update: "set status = 'failed'",
            // How it ended; execution, assessments and idempotency keys are internal.
            readable: [
                "user_id", "id", "conversation_id", "user_message_id", "message_id", "attempt", "status", "finish_reason", "error_code",
                "persona_id", "domain", "domain_confidence", "retry_of", "created_at", "started_at", "finished_at", "updated_at", "change",
            ]),
        .init(
            name: "public.usage_logs", allowed: own("S...", gateway: "SI.."),
            insert: """
                insert into public.usage_logs (account_id, day, turn_id, attempt, call, revision, purpose, tier)
                values (:account, now(), gen_random_uuid(), 1, 1, 0, 'chat', 'free')
                """, update: "set cost_usd = 0"),
        .init(
            name: "gateway.crisis_events", allowed: [:],
            insert: """
                insert into gateway.crisis_events (account_id, day, turn_id, attempt, stage, tier, patterns, action, bucket, is_counted)
                values (:account, now(), gen_random_uuid(), 1, 'grammar', 2, '{}', 'card', now(), true)
                """, update: "set tier = 0"),
        .init(
            name: "public.model_calls", allowed: own("S...", gateway: "...."),
            insert: "insert into public.model_calls (turn_id) values (gen_random_uuid())", update: "set cost_usd = 0"),
        .init(
            name: "public.rate_limits", allowed: own("S...", gateway: "SIU."),
            insert: "insert into public.rate_limits (user_id) values (:owner)", update: "set requests = 0"),
        .init(
            name: "public.budgets", allowed: own("S...", gateway: "SIU."),
            insert: "insert into public.budgets (user_id, day) values (:owner, now())", update: "set spent_usd = 0"),
        .init(
            name: "public.safety_states", allowed: own("S...", gateway: "SIU."),
            insert: "insert into public.safety_states (user_id, level, raised_at) values (:owner, 0, now())", update: "set level = 0"),

        // Personas: creators read all of their own; every signed-in user reads the public columns of published ones.
        .init(
            name: "public.coaching_personas",
            allowed: [
                .owner: "S...", .postgrest: "S...", .creator: "SIU.", .gateway: "S...", .gatewayForOther: "S...", .gatewayForNobody: "S...",
                .gatewayHalfBound: "S...",
            ],
            insert: "insert into public.coaching_personas (user_id, name) values (:owner, 'x')", update: "set name = 'x'",
            insertable: ["id", "user_id", "name", "description", "domain", "tone", "methodology", "personality", "starters", "languages"],
            updatable: [
                "name", "description", "domain", "tone", "methodology", "personality", "starters", "languages", "card", "deleted_at",
            ]),
        .init(
            name: "public.persona_versions",
            allowed: [
                .owner: "S...", .postgrest: "S...", .creator: "S...", .gateway: "SI..", .gatewayForOther: "S...", .gatewayForNobody: "S...",
                .gatewayHalfBound: "S...",
            ],
            insert: """
                insert into public.persona_versions (persona_id, version, name)
                select id, 2, 'x' from public.coaching_personas where user_id = :owner
                """, update: "set name = 'x'"),
        .init(
            name: "public.published_personas",
            allowed: everybodySignedIn.merging([
                .gateway: "S...", .gatewayForOther: "S...", .gatewayForNobody: "S...", .gatewayHalfBound: "S...",
            ]) { a, _ in a },
            insert: "insert into public.published_personas (name) values ('x')", update: "set name = 'x'"),
        .init(
            name: "public.persona_avatars",
            allowed: [.gateway: "SIUD", .gatewayForOther: "S...", .gatewayForNobody: "S...", .gatewayHalfBound: "S..."],
            insert: """
                insert into public.persona_avatars select id, 'image/png', '' from public.coaching_personas where user_id = :owner
                """, update: "set format = 'image/jpeg'"),
        // Written by the gateway for the creator; any user with a token may look it up.
        .init(
            name: "public.share_links",
            allowed: [.gateway: "SIU.", .gatewayForOther: "S...", .gatewayForNobody: "S...", .gatewayHalfBound: "S..."],
            insert: """
                insert into public.share_links (persona_id, user_id, token)
                select id, user_id, gen_random_uuid()::text from public.coaching_personas where user_id = :owner
                """, update: "set revoked_at = now()"),
        .init(
            name: "gateway.persona_counter", allowed: everyGateway, insert: "insert into gateway.persona_counter default values",
            update: "set last_change = 0"),
        .init(
            name: "gateway.removed_personas", allowed: [:],
            insert: "insert into gateway.removed_personas values (gen_random_uuid(), 0, true)", update: "set change = 0"),
        .init(
            name: "public.persona_redemptions", allowed: own("S...", gateway: "S..."),
            insert: "insert into public.persona_redemptions values (:owner, gen_random_uuid(), gen_random_uuid())",
            update: "set redeemed_at = now()"),

        // Running turns: only for the gateway, for the bound user or, without claims, for all.
        .init(
            name: "gateway.running_turns", allowed: [.gateway: "SIUD", .gatewayForNobody: "SIUD"],
            insert: """
                insert into gateway.running_turns
                    (user_id, conversation_id, turn_id, attempt, user_message_id, message_id, account_id, day, started_at, risk)
                values (
                    :owner, gen_random_uuid(), gen_random_uuid(), 1, gen_random_uuid(), gen_random_uuid(), :account, now(), now(), '{}')
                """, update: "set model = 'x'"),
        .init(
            name: "gateway.running_summaries", allowed: [.gateway: "SIUD"],
            insert: "insert into gateway.running_summaries values (:owner, now(), gen_random_uuid(), 1, 1000, 0, 0)",
            update: "set estimate = '{}'"),
        // Checkpoints have the text of many users in one row: never accessible when bound to a user.
        .init(
            name: "gateway.checkpoints", allowed: [.gatewayForNobody: "SIUD"],
            insert: """
                insert into gateway.checkpoints (instance, epoch, turns, attempts, from_bytes, to_bytes, offsets, released_text)
                values (gen_random_uuid(), 1, '{}', '{}', '{}', '{}', '{}', '')
                """, update: "set released_text = ''"),

        // Jobs: enqueued for the bound user, run without claims.
        .init(
            name: "gateway.jobs", allowed: [.gateway: "SIUD", .gatewayForNobody: "SIUD"],
            insert: "insert into gateway.jobs (user_id, kind, due_at, max_attempts) values (:owner, 'x', now(), 1)",
            update: "set attempts = 1"
        ),
        .init(
            name: "gateway.done_jobs", allowed: [.gateway: "SIUD", .gatewayForNobody: "SIUD"],
            insert: "insert into gateway.done_jobs (user_id, kind, idempotency_key) values (:owner, 'x', 'x')",
            update: "set done_at = now()"),

        // The search index of the user's messages, and how far it is complete.
        .init(
            name: "public.message_words", allowed: own("S...", gateway: "SIU."),
            insert: "insert into public.message_words values (:owner, gen_random_uuid(), '')", update: "set words = ''"),
        .init(
            name: "gateway.search_progress", allowed: [.gateway: "SIU."],
            insert: "insert into gateway.search_progress values (:owner, 'simple', 0, gen_random_uuid())", update: "set change = 0"),
        // Consents, recorded by a function, and reports, which are never changed.
        .init(
            name: "public.consents", allowed: own("S...", gateway: "SI.."),
            insert: "insert into public.consents values (:owner, 9, 'memory', '1', true)", update: "set granted = true"),
        .init(
            name: "public.reports", allowed: own("SI..", gateway: "...."),
            insert: """
                insert into public.reports (user_id, message_id, reason)
                select :owner, id, 'other' from public.messages where user_id = :owner and role = 'assistant' limit 1
                """, update: "set comment = 'x'",
            insertable: ["user_id", "id", "persona_id", "message_id", "reason", "comment"]),
        .init(
            name: "gateway.removal_confirmations", allowed: [.gateway: "SIUD"],
            insert: "insert into gateway.removal_confirmations values (:owner, '', now())", update: "set token_hash = ''"),

        // Idempotency keys of the bound user.
        .init(
            name: "gateway.idempotent_requests", allowed: [.gateway: "SIUD"],
            insert: "insert into gateway.idempotent_requests (user_id, key, request_hash) values (:owner, 'x', '')",
            update: "set status = 201"),

        // Results of billing events: written without a bound user, read for the bound user.
        .init(
            // Can be deleted only without events; this one has some.
            name: "gateway.subscribers", allowed: [.gatewayForNobody: "SIU."],
            insert: "insert into gateway.subscribers (revision, fold_version) values (1, 1)", update: "set revision = 0"),
        .init(
            name: "gateway.subscriber_ids", allowed: [.gatewayForNobody: "SIU."],
            insert: "insert into gateway.subscriber_ids values ('x', 1)", update: "set subscriber = 1"),
        .init(
            name: "gateway.billing_events", allowed: [.gatewayForNobody: "SIU."],
            insert: """
                insert into gateway.billing_events (source, event_id, status, ignored_reason, environment, body)
                values ('stripe', 'x', 'ignored', 'x', 'sandbox', '')
                """, update: "set type = 'x'"),
        .init(
            name: "gateway.billing_figures", allowed: [.gatewayForNobody: "SI.."],
            insert: """
                insert into gateway.billing_figures (event_number, source, event_id, occurred_at, kind, purchase, store, renews)
                values (0, 'stripe', 'x', now(), 'purchase', 'x', 'x', true)
                """, update: "set kind = 'x'"),
        .init(
            name: "gateway.unfolded_figures", allowed: [.gatewayForNobody: ".I.."],
            insert: "insert into gateway.unfolded_figures (event_number) values (1)", update: "set event_number = 2"),
        .init(
            name: "gateway.subscriptions", allowed: [.gateway: "S...", .gatewayForNobody: "SIU."],
            insert: "insert into gateway.subscriptions (user_id, timeline) values (:owner, '[]')", update: "set timeline = '[]'"),
        .init(
            name: "gateway.user_entitlements", allowed: [.gateway: "S...", .gatewayForNobody: "SIUD"],
            insert: "insert into gateway.user_entitlements values (:owner, 'x', false, 'infinity')", update: "set access_until = 'infinity'"
        ),

        // Shared by all users: accessible only without a bound user.
        .init(
            name: "gateway.shared_budgets", allowed: [.gatewayForNobody: "SIUD"],
            insert: "insert into gateway.shared_budgets (scope, id, day) values ('tier', 'x', now())", update: "set taken = 0"),

        // Change numbers for synchronization: taken by the turn functions, and by triggers for users.
        .init(
            name: "public.change_counters", allowed: own("S...", gateway: "SIU."),
            insert: "insert into public.change_counters (user_id) values (:owner)", update: "set last_change = 0"),
        .init(
            name: "public.database_epoch",
            allowed: everybodySignedIn, insert: "insert into public.database_epoch default values", update: "set epoch = gen_random_uuid()"),

        // Versioned documents: every instance reads them, functions of schema operator write them. Only those read the log.
        .init(
            name: "gateway.documents", allowed: everyGateway,
            insert: "insert into gateway.documents values ('limits', 'x', 2, 99)", update: "set current_version = 9"),
        .init(
            name: "gateway.document_versions", allowed: everyGateway,
            insert: """
                insert into gateway.document_versions (kind, id, version, author, created_at) values ('limits', 'default', 9, :owner, now())
                """, update: "set body = '{}'"),
        .init(
            name: "gateway.audit_log", allowed: [:],
            insert: "insert into gateway.audit_log values (9, null, 'system', 'x', 'x', null, null, null, null, now(), '', '')",
            update: "set action = 'x'"),

        // Sessions in a browser: reached by functions with their owner's rights alone.
        .init(
            name: "gateway.operator_sessions", allowed: [:], insert: "insert into gateway.operator_sessions values (:owner, '', now())",
            update: "set expires_at = now()"),
        .init(name: "gateway.session_key", allowed: [:], insert: "insert into gateway.session_key default values", update: "set key = ''"),

        // The gateway's own.
        .init(
            name: "gateway.instances",
            allowed: [.gateway: "SIUD", .gatewayForOther: "SIUD", .gatewayForNobody: "SIUD", .gatewayHalfBound: "SIUD"],
            insert: "insert into gateway.instances values (gen_random_uuid(), 1, now())", update: "set epoch = 1"),
        .init(
            name: "gateway.tombstone_key", allowed: [:], insert: "insert into gateway.tombstone_key default values", update: "set key = ''"),
        .init(
            name: "gateway.removed_users", allowed: [:], insert: "insert into gateway.removed_users values ('')",
            update: "set removed_at = now()"),
        .init(
            name: "gateway.schema_minimum",
            allowed: [.gateway: "S...", .gatewayForOther: "S...", .gatewayForNobody: "S...", .gatewayHalfBound: "S..."],
            insert: "insert into gateway.schema_minimum values ('x')", update: "set version = 'x'"),
        .init(
            name: "gateway.schema_migrations",
            allowed: [.gateway: "S...", .gatewayForOther: "S...", .gatewayForNobody: "S...", .gatewayHalfBound: "S..."],
            insert: "insert into gateway.schema_migrations values ('x', 'x', 'x')", update: "set name = 'x'"),
    ]
}
