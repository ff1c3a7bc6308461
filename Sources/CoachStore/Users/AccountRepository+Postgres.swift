import CoachCore
import Foundation
import PostgresClient

extension AccountRepository {
    /// Accounts in PostgreSQL. The user's row must exist: `RequestCounter.take` creates it; a GET may run before, and then runs
    /// again.
    public static func postgres(client: PostgresClient) -> AccountRepository {
        AccountRepository(
            get: { caller in
                try await client.account(of: caller, "select \(AccountRecord.columns) from public.users where id = \(caller.userID)")
            },
            patch: { caller, patch in
                let assignments = Query.assignments([
                    patch.displayName.map { "display_name = \($0)" }, patch.locale.map { "locale = \($0)" },
                    patch.country.map { "country = \($0)" }, patch.timeZone.map { "time_zone = \($0)" },
                    patch.isMinor.map { "is_minor = \($0)" },
                ])
                // Without a change the row is only read.
                let statement: Query =
                    assignments.map { "update public.users set \($0) where id = \(caller.userID) returning \(AccountRecord.columns)" }
                    ?? "select \(AccountRecord.columns) from public.users where id = \(caller.userID)"
                return try await client.account(of: caller, statement)
            },
            usage: { caller in
                guard
                    let usage = try await client.userRows(
                        AccountUsage.query(for: caller), for: caller, decode: { try AccountUsage(row: $0) }
                    ).first
                else { throw Rejection(reason: .notFound) }
                return usage
            },
            prepareRemoval: { caller in try await client.call("gateway.prepare_removal(\(caller.userID))", for: caller) },
            confirmRemoval: { caller, token in
                try await client.call("gateway.confirm_removal(\(caller.userID), \(token))", for: caller)
            })
    }
}

extension PostgresClient {
    fileprivate func account(of caller: Caller, _ statement: Query) async throws -> AccountRecord {
        guard let record = try await userRows(statement, for: caller, decode: { try AccountRecord(row: $0) }).first else {
            throw Rejection(reason: .notFound)
        }
        return record
    }
}

extension AccountRecord {
    fileprivate static let columns: Query = """
        id, display_name, locale, country, time_zone, is_minor, (extract(epoch from created_at) * 1000000)::bigint, \
        (extract(epoch from updated_at) * 1000000)::bigint
        """

    fileprivate init(row: borrowing Row) throws {
        self.init(
            id: UserID(try row.value(0)), displayName: try row.value(1), locale: try row.value(2), country: try row.value(3),
            timeZone: try row.value(4), isMinor: try row.value(5), createdAt: Date(microseconds: try row.value(6)),
            updatedAt: Date(microseconds: try row.value(7)))
    }
}

extension AccountUsage {
    /// Returns one row: today's messages and this month's sums of the ledger, in which corrections are separate rows.
    fileprivate static func query(for caller: Caller) -> Query {
        """
        select (today.day - date '1970-01-01')::bigint, coalesce(case when r.day = today.day then r.messages end, 0), l.turns,
            coalesce(l.input_tokens, 0)::bigint, coalesce(l.cached_input_tokens, 0)::bigint, coalesce(l.cache_write_tokens, 0)::bigint,
            coalesce(l.output_tokens, 0)::bigint, coalesce(l.reasoning_tokens, 0)::bigint,
            (coalesce(l.cost_usd, 0) * 1000000000)::bigint, coalesce(l.unpriced, 0)::bigint
        from public.users u
        cross join (select (now() at time zone 'UTC')::date as day) today
        left join public.rate_limits r on r.user_id = u.id
        cross join lateral (
            -- A summary may be made in the month after its turn.
            select count(distinct l.turn_id) filter (where l.finalized_by is not null and l.purpose <> 'summary') as turns, sum(l.input_tokens) as input_tokens,
                sum(l.cached_input_tokens) as cached_input_tokens, sum(l.cache_write_tokens) as cache_write_tokens,
                sum(l.output_tokens) as output_tokens, sum(l.reasoning_tokens) as reasoning_tokens, sum(l.cost_usd) as cost_usd,
                sum(l.unpriced) as unpriced
            from public.usage_logs l
            where l.account_id = u.account_id and l.day >= date_trunc('month', today.day)::date and l.day <= today.day) l
        where u.id = \(caller.userID)
        """
    }

    fileprivate init(row: borrowing Row) throws {
        self.init(
            day: CalendarDay(daysSinceEpoch: try row.value(0)), messagesToday: try row.value(1), turns: try row.value(2),
            usage: TokenUsage(
                input: try row.value(3), cachedInput: try row.value(4), cacheWrite: try row.value(5), output: try row.value(6),
                reasoning: try row.value(7)),
            cost: Nanodollars(try row.value(8)), unpricedCalls: try row.value(9))
    }
}
