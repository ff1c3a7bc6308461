import CoachCore
import Foundation
import PostgresClient

extension AccountRepository {
    /// Accounts in PostgreSQL. The user's row must exist: `RequestCounter.take` creates it; a GET may run before, and then runs
    /// again.
    /// - Parameter tiers: called for every request of the usage, so that a change of the tiers takes effect at once.
    public static func postgres(client: PostgresClient, tiers: @escaping @Sendable () -> TierBook) -> AccountRepository {
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
                let tiers = tiers()
                return try await client.gatewayRows(AccountUsage.query(for: caller, tiers), for: caller) {
                    try AccountUsage(row: $0, tiers)
                }.first.orNotFound()
            },
            prepareRemoval: { caller in try await client.call("gateway.prepare_removal(\(caller.userID))", for: caller) },
            confirmRemoval: { caller, token in
                try await client.call("gateway.confirm_removal(\(caller.userID), \(token))", for: caller)
            })
    }
}

extension PostgresClient {
    fileprivate func account(of caller: Caller, _ statement: Query) async throws -> AccountRecord {
        try await userRows(statement, for: caller) { try AccountRecord(row: $0) }.first.orNotFound()
    }
}

extension AccountRecord {
    fileprivate static let columns: Query = """
        id, display_name, locale, country, time_zone, is_minor, (extract(epoch from created_at) * 1000000)::bigint, \
        (extract(epoch from updated_at) * 1000000)::bigint
        """

    fileprivate init(row: borrowing Row) throws {
        self.init(
            id: try row.value(0), displayName: try row.value(1), locale: try row.value(2), country: try row.value(3),
            timeZone: try row.value(4), isMinor: try row.value(5), createdAt: Date(microseconds: try row.value(6)),
            updatedAt: Date(microseconds: try row.value(7)))
    }
}

extension AccountUsage {
    /// Returns one row; none when the user's row does not exist.
    fileprivate static func query(for caller: Caller, _ tiers: TierBook) -> Query {
        """
        select (day - date '1970-01-01')::bigint, messages_today, turns, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens,
            reasoning_tokens, cost_nanodollars, unpriced_calls,
            (select tier_of from gateway.tier_of(\(caller.userID), \(StoredJSON.encode(RequestLimits(tiers: tiers)))::jsonb, now()))
        from gateway.account_usage(\(caller.userID))
        """
    }

    fileprivate init(row: borrowing Row, _ tiers: TierBook) throws {
        self.init(
            day: CalendarDay(daysSinceEpoch: try row.value(0)), messagesToday: try row.value(1),
            tier: tiers.tiers[try row.value(10, as: Int.self)], turns: try row.value(2),
            usage: TokenUsage(
                input: try row.value(3), cachedInput: try row.value(4), cacheWrite: try row.value(5), output: try row.value(6),
                reasoning: try row.value(7)),
            cost: Nanodollars(try row.value(8)), unpricedCalls: try row.value(9))
    }
}
