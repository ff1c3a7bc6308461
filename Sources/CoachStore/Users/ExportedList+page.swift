import CoachCore
import Foundation
import PostgresClient

extension ExportedList {
    /// Whether role `authenticated` may read all that the list has; else the gateway reads it, bound to the user.
    var isReadByUsers: Bool {
        switch self {
        case .summaries, .usage, .deletedPersonas, .personaVersions, .cards, .pushTokens: true
        case .turns, .safetyStates, .crisisEvents, .limits, .shareLinks: false
        }
    }

    /// The rows after the one with this key, with a key and JSON as text.
    func page(of caller: Caller, after last: String?, _ limit: Int) -> Query {
        // For rows with `key` and `json`: few for each user, so that they are sorted for every page.
        func sorted(_ rows: Query) -> Query {
            """
            select k.key, k.json::text from (\(rows)) k
            where \(last)::text is null or k.key > \(last)::text collate "C" order by k.key collate "C" limit \(limit)
            """
        }
        return switch self {
        case .turns: Self.turns(of: caller, after: last.flatMap(UUID.init(uuidString:)), limit)
        case .summaries:
            sorted(
                """
                select c.id::text as key, jsonb_build_object('conversation_id', c.id, 'summary', c.summary) as json
                from public.conversations c where c.user_id = \(caller.userID) and c.summary is not null
                """)
        case .usage:
            sorted(
                """
                select b.day::text as key, jsonb_build_object(
                    'day', b.day, 'tokens', b.tokens, 'cost_usd', b.spent_usd::text, 'unpriced_calls', b.unpriced_turns) as json
                from public.budgets b where b.user_id = \(caller.userID)
                """)
        case .safetyStates:
            sorted(
                """
                select s.persona_id::text as key, jsonb_build_object(
                    'persona_id', nullif(s.persona_id, gateway.no_persona()), 'level', s.level,
                    'level_now', gateway.level_at(s.level, s.raised_at, now()), 'raised_at', \(Query.utc("s.raised_at"))) as json
                from public.safety_states s where s.user_id = \(caller.userID)
                """)
        case .crisisEvents:
            sorted(
                """
                select concat_ws('/', e.day, e.turn_id, lpad(e.attempt::text, 10, '0'), e.stage) as key,
                    to_jsonb(e) - array['account_id', 'bucket', 'is_counted']
                    || jsonb_build_object('created_at', \(Query.utc("e.created_at"))) as json
                from gateway.crisis_events_of(\(caller.userID)) e
                """)
        case .limits:
            sorted(
                """
                select 'limits' as key, jsonb_build_object(
                    'day', r.day, 'messages', r.messages, 'crisis_calls', r.crisis_calls,
                    'window_started_at', \(Query.utc("r.window_started_at")), 'requests', r.requests,
                    'disclosed_at', \(Query.utc("r.disclosed_at"))) as json
                from public.rate_limits r where r.user_id = \(caller.userID)
                """)
        case .deletedPersonas:
            sorted(
                """
                select id::text as key, \(PersonaVersion.content) || jsonb_build_object(
                    'id', id, 'slug', slug, 'created_at', \(Query.utc("created_at")), 'deleted_at', \(Query.utc("deleted_at"))) as json
                from public.coaching_personas where user_id = \(caller.userID) and deleted_at is not null and purged_at is null
                """)
        case .personaVersions:
            sorted(
                """
                select v.persona_id || '/' || lpad(v.version::text, 10, '0') as key,
                    to_jsonb(v) || jsonb_build_object('created_at', \(Query.utc("v.created_at"))) as json
                from public.coaching_personas p join public.persona_versions v on v.persona_id = p.id where p.user_id = \(caller.userID)
                """)
        case .cards:
            sorted(
                """
                select p.id::text as key, jsonb_build_object('persona_id', p.id, 'card', p.card) as json
                from public.coaching_personas p where p.user_id = \(caller.userID) and p.card is not null
                """)
        case .shareLinks:
            sorted(
                """
                select l.id::text as key, jsonb_build_object(
                    'id', l.id, 'persona_id', l.persona_id, 'token', l.token, 'label', l.label, 'max_uses', l.max_uses, 'uses', l.uses,
                    'expires_at', \(Query.utc("l.expires_at")), 'revoked_at', \(Query.utc("l.revoked_at")),
                    'created_at', \(Query.utc("l.created_at"))) as json
                from public.share_links l where l.user_id = \(caller.userID)
                """)
        case .pushTokens:
            sorted(
                """
                select t.token as key, jsonb_build_object(
                    'token', t.token, 'platform', t.platform, 'environment', t.environment,
                    'created_at', \(Query.utc("t.created_at"))) as json
                from public.push_tokens t where t.user_id = \(caller.userID)
                """)
        }
    }

    /// Of previews nothing is exported. Every column but those of the gateway's own work.
    private static func turns(of caller: Caller, after last: UUID?, _ limit: Int) -> Query {
        let turns: Query = """
            select t.id::text, (to_jsonb(t)
                - array['user_id', 'seq', 'request_hash', 'conversation_named', 'risk_is_decided', 'finalized_by', 'lost_attempt', 'day', 'change']
                || jsonb_build_object(
                    'created_at', \(Query.utc("t.created_at")), 'started_at', \(Query.utc("t.started_at")), 'finished_at', \(Query.utc("t.finished_at")),
                    'updated_at', \(Query.utc("t.updated_at")), 'deleted_at', \(Query.utc("t.deleted_at"))))::text
            from public.turns t where t.user_id = \(caller.userID) and t.purpose <> 'preview'
            """
        return .page(turns, by: "t.id", after: last, limit)
    }
}

extension Query {
    /// A time stamp as the wire has it.
    static func utc(_ column: Query) -> Query {
        "to_char(\(column) at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
    }
}
