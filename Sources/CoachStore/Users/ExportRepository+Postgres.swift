import CoachCore
import Foundation
import PostgresClient

extension ExportRepository {
    /// Exports from PostgreSQL, in pages by primary key. Each page is a separate statement, so the export is not one snapshot.
    public static func postgres(client: PostgresClient) -> ExportRepository {
        ExportRepository(
            conversations: { caller, last, limit in
                let page = Query.page(
                    "select \(ConversationRecord.columns) from public.conversations where user_id = \(caller.userID)", by: "id",
                    after: last,
                    limit)
                return try await client.userRows(page, for: caller) { try ConversationRecord(row: $0, at: 0) }
            },
            messages: { caller, last, limit in try await client.exportedMessages(of: caller, after: last, limit) },
            consents: { caller, last, limit in
                let consents: Query = """
                    select sequence::bigint, \(ConsentRecord.columns) from public.consents where user_id = \(caller.userID)
                    """
                return try await client.userRows(.page(consents, by: "sequence", after: last, limit), for: caller) { row in
                    ExportedConsent(sequence: try row.value(0), decision: try ConsentRecord(row: row, at: 1))
                }
            },
            reports: { caller, last, limit in
                let reports: Query = """
                    select id, persona_id, message_id, reason::text, comment from public.reports where user_id = \(caller.userID)
                    """
                return try await client.userRows(.page(reports, by: "id", after: last, limit), for: caller) { try Report(row: $0) }
            },
            redemptions: { caller, last, limit in
                let redemptions: Query = """
                    select persona_id, (extract(epoch from redeemed_at) * 1000000)::bigint from public.persona_redemptions
                    where user_id = \(caller.userID)
                    """
                return try await client.userRows(.page(redemptions, by: "persona_id", after: last, limit), for: caller) { row in
                    ExportedRedemption(personaID: try row.value(0), redeemedAt: Date(microseconds: try row.value(1)))
                }
            },
            personas: { caller, last, limit in
                let personas: Query = "select \(PersonaRecord.columns) from public.coaching_personas where user_id = \(caller.userID)"
                return try await client.userRows(.page(personas, by: "id", after: last, limit), for: caller) { try PersonaRecord(row: $0) }
            },
            rows: { caller, list, last, limit in try await client.exportedRows(of: caller, list, after: last, limit) },
            avatar: { caller, last in try await client.exportedAvatar(of: caller, after: last) },
            isUserActive: { caller in
                let row: Query = "select 1 from public.users where id = \(caller.userID) and suspended_at is null"
                return try await !client.userRows(row, for: caller) { try $0.value(0, as: Int.self) }.isEmpty
            })
    }
}

extension PostgresClient {
    fileprivate func exportedMessages(of caller: Caller, after last: MessageID?, _ limit: Int) async throws -> [ConversationMessage] {
        // With limits, because they are otherwise joined from the conversations on, and a user's messages sorted again for every page.
        let messages: Query = """
            select m.conversation_id, \(MessageRecord.columns) from public.messages m
            cross join lateral (
                select from public.conversations c where c.user_id = m.user_id and c.id = m.conversation_id limit 1) c
            left join lateral (
                select t.domain from public.turns t where t.user_id = m.user_id and t.id = m.turn_id limit 1) t on true
            where m.user_id = \(caller.userID)
            """
        return try await userRows(.page(messages, by: "m.id", after: last, limit), for: caller) { try ConversationMessage(row: $0) }
    }

    fileprivate func exportedRows(
        of caller: Caller, _ list: ExportedList, after last: String?, _ limit: Int
    ) async throws -> [ExportedRow] {
        let query: Query = """
            select k.key, k.json::text from (\(list.query(of: caller))) k
            where \(last)::text is null or k.key > \(last)::text collate "C" order by k.key collate "C" limit \(limit)
            """
        // Users read share links through the gateway only.
        guard list == .shareLinks else { return try await userRows(query, for: caller) { try ExportedRow(row: $0) } }
        return try await gatewayRows(query, for: caller) { try ExportedRow(row: $0) }
    }

    fileprivate func exportedAvatar(of caller: Caller, after last: PersonaID?) async throws -> ExportedAvatar? {
        let avatars: Query = """
            select a.persona_id, a.format, a.content from public.coaching_personas p
            join public.persona_avatars a on a.persona_id = p.id where p.user_id = \(caller.userID)
            """
        return try await gatewayRows(.page(avatars, by: "a.persona_id", after: last, 1), for: caller) { row in
            ExportedAvatar(personaID: try row.value(0), image: try AvatarImage(row: row, at: 1))
        }.first
    }
}

extension ExportedList {
    /// Rows with a `key` and `json`. Few for each user, so that they are sorted for every page.
    fileprivate func query(of caller: Caller) -> Query {
        func utc(_ column: Query) -> Query { "to_char(\(column) at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')" }
        return switch self {
        case .summaries:
            """
            select c.id::text as key, jsonb_build_object('conversation_id', c.id, 'summary', c.summary) as json
            from public.conversations c where c.user_id = \(caller.userID) and c.summary is not null
            """
        case .usage:
            """
            select b.day::text as key, jsonb_build_object(
                'day', b.day, 'tokens', b.tokens, 'cost_usd', b.spent_usd::text, 'unpriced_calls', b.unpriced_turns) as json
            from public.budgets b where b.user_id = \(caller.userID)
            """
        case .personaVersions:
            """
            select v.persona_id || '/' || lpad(v.version::text, 10, '0') as key,
                to_jsonb(v) || jsonb_build_object('created_at', \(utc("v.created_at"))) as json
            from public.coaching_personas p join public.persona_versions v on v.persona_id = p.id where p.user_id = \(caller.userID)
            """
        case .cards:
            """
            select p.id::text as key, jsonb_build_object('persona_id', p.id, 'card', p.card) as json
            from public.coaching_personas p where p.user_id = \(caller.userID) and p.card is not null
            """
        case .shareLinks:
            """
            select l.id::text as key, jsonb_build_object(
                'id', l.id, 'persona_id', l.persona_id, 'token', l.token, 'label', l.label, 'max_uses', l.max_uses, 'uses', l.uses,
                'expires_at', \(utc("l.expires_at")), 'revoked_at', \(utc("l.revoked_at")), 'created_at', \(utc("l.created_at"))) as json
            from public.share_links l where l.user_id = \(caller.userID)
            """
        case .pushTokens:
            """
            select t.token as key, jsonb_build_object(
                'token', t.token, 'platform', t.platform, 'environment', t.environment, 'created_at', \(utc("t.created_at"))) as json
            from public.push_tokens t where t.user_id = \(caller.userID)
            """
        }
    }
}

extension ExportedRow {
    fileprivate init(row: borrowing Row) throws { self.init(key: try row.value(0), json: try .stored(try row.value(1))) }
}

extension Query {
    /// The rows after a key, in its order. `rows` ends with a condition.
    fileprivate static func page(_ rows: Query, by key: Query, after last: (some QueryValue)?, _ limit: Int) -> Query {
        var page = rows
        if let last { page.append(" and \(key) > \(last)") }
        page.append(" order by \(key) limit \(limit)")
        return page
    }
}

extension Report {
    fileprivate init(row: borrowing Row) throws {
        let subject: Report.Subject
        if let persona = try row.value(1, as: PersonaID?.self) {
            subject = .persona(persona)
        } else {
            subject = .answer(try row.value(2))
        }
        self.init(
            id: try row.value(0), subject: subject, reason: try .stored(try row.value(3)), comment: try row.value(4))
    }
}
