import CoachCore
import Foundation
import JSON
import PostgresClient

/// Computes the costs of past calls again, by the prices that are known now, and books what differs as revisions: the old figures stay in the ledger.
/// Each booking is in the audit log.
/// Connects as the owner of the tables, because no role of the gateway may write to the accounts of all users.
public struct Repricing: Sendable {
    /// Counts of the calls of a day.
    public struct Result: Sendable, Equatable {
        /// Calls with a receipt.
        public var calls: Int
        /// Those with another cost than before.
        public var changed: Int
        /// The number of these calls that have no price now.
        public var unpriced: Int
        /// The sum of the differences.
        public var difference: Nanodollars

        public init(calls: Int = 0, changed: Int = 0, unpriced: Int = 0, difference: Nanodollars = Nanodollars(0)) {
            self.calls = calls
            self.changed = changed
            self.unpriced = unpriced
            self.difference = difference
        }
    }

    /// Calls that are read and booked at once.
    private static let batch = 1_000

    private let client: PostgresClient
    private let prices: PriceBook

    public init(client: PostgresClient, prices: PriceBook) {
        self.client = client
        self.prices = prices
    }

    /// The first day whose calls the ledger still has; nil: it has those of all days. Days before it keep their figures.
    public func firstDay() async throws -> CalendarDay? {
        let query: Query = "select (ledger_start - date '1970-01-01')::bigint from gateway.rollup_state"
        let days = try await client.query(query) { rows in try rows.only { row in try row.value(0, as: Int?.self) } }
        return days.map { CalendarDay(daysSinceEpoch: $0) }
    }

    /// Prices the calls of a day (UTC). May be broken off and repeated: a call whose cost is right is left alone.
    /// - Parameter books: false: only counts.
    public func price(_ day: CalendarDay, books: Bool) async throws -> Result {
        var result = Result()
        var last: PastCall?
        repeat {
            let calls = try await calls(of: day, after: last)
            last = calls.count == Self.batch ? calls.last : nil
            let corrections = calls.compactMap { call in
                Correction(call, cost: call.isEmpty ? Nanodollars(0) : cost(of: call, on: day))
            }
            result.calls += calls.count
            result.changed += corrections.count
            result.unpriced += corrections.count { $0.unpriced > 0 }
            result.difference = Nanodollars(corrections.reduce(result.difference.raw) { $0 + $1.nanodollars })
            if books, !corrections.isEmpty { try await book(corrections, on: day) }
        } while last != nil
        return result
    }

    private func cost(of call: PastCall, on day: CalendarDay) -> Nanodollars? {
        prices.cost(of: call.usage, at: call.name, on: day, estimated: call.isEstimated)
    }

    private func calls(of day: CalendarDay, after last: PastCall?) async throws -> [PastCall] {
        var query: Query = """
            select jsonb_build_object(
                'account_id', l.account_id, 'turn_id', l.turn_id, 'attempt', l.attempt, 'call', l.call, 'revision', max(l.revision),
                'provider', (array_agg(l.provider order by l.revision desc) filter (where l.provider is not null))[1],
                'model', (array_agg(l.model order by l.revision desc) filter (where l.model is not null))[1],
                'input', sum(l.input_tokens), 'cached_input', sum(l.cached_input_tokens), 'cache_write', sum(l.cache_write_tokens),
                'output', sum(l.output_tokens), 'reasoning', sum(l.reasoning_tokens),
                'nanodollars', coalesce(gateway.to_nanodollars(sum(l.cost_usd)), 0), 'unpriced', sum(l.unpriced),
                'estimated', (array_agg(l.estimated order by l.revision desc))[1])::text
            from public.usage_logs l where l.day = \(day.description)::date
            """
        if let last {
            query.append(
                """
                 and (l.account_id, l.turn_id, l.attempt, l.call)
                    > (\(last.account), \(last.turn), \(last.attempt)::integer, \(last.call)::integer)
                """)
        }
        query.append(
            """
             group by l.account_id, l.turn_id, l.attempt, l.call
            having max(l.revision) > 0 and count(l.model) > 0 and count(l.finalized_by) > 0
            order by l.account_id, l.turn_id, l.attempt, l.call limit \(Self.batch)
            """)
        let texts = try await client.query(query) { rows in try rows.map { row in try row.value(0, as: String.self) } }
        return try texts.map { try StoredJSON.decode(PastCall.self, from: $0) }
    }

    /// A call that got another revision meanwhile is left to the next run. The tokens stay as they are: 0 where they are known.
    private func book(_ corrections: [Correction], on day: CalendarDay) async throws {
        let argument = StoredJSON.encode(corrections)
        try await client.withTransaction { lease in
            try await lease.execute(
                """
                with correction as (
                    select * from jsonb_to_recordset(\(argument)::jsonb) as c (
                        account_id uuid, turn_id uuid, attempt integer, call integer, revision integer, nanodollars bigint, unpriced integer)
                ), booked as (
                    insert into public.usage_logs (
                        account_id, day, turn_id, attempt, call, revision, purpose, finalized_by, conversation_id, message_id, persona_id,
                        domain, tier, provider, model, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens,
                        reasoning_tokens, tokens_in, tokens_out, cost_usd, unpriced, estimated)
                    select l.account_id, l.day, l.turn_id, l.attempt, l.call, l.revision + 1, l.purpose, l.finalized_by, l.conversation_id,
                        l.message_id, l.persona_id, l.domain, l.tier, l.provider, l.model, l.input_tokens * 0, l.cached_input_tokens * 0,
                        l.cache_write_tokens * 0, l.output_tokens * 0, l.reasoning_tokens * 0, l.tokens_in * 0, l.tokens_out * 0,
                        gateway.to_usd(c.nanodollars), c.unpriced, l.estimated
                    from correction c
                    join public.usage_logs l on l.account_id = c.account_id and l.day = \(day.description)::date and l.turn_id = c.turn_id
                        and l.attempt = c.attempt and l.call = c.call and l.revision = c.revision
                    on conflict do nothing
                    returning account_id, cost_usd, unpriced
                ), spent as (
                    update public.budgets b set spent_usd = b.spent_usd + d.cost, unpriced_turns = b.unpriced_turns + d.unpriced
                    from (
                        select u.id, sum(k.cost_usd) as cost, sum(k.unpriced) as unpriced
                        from booked k join public.users u on u.account_id = k.account_id group by u.id
                    ) d
                    where b.user_id = d.id and b.day = \(day.description)::date
                )
                select gateway.append_audit(
                    'ledger.reprice', 'ledger/' || \(day.description)::text, null, null, t.calls || ' calls, by ' || t.cost || ' USD', null)
                from (select count(*) as calls, sum(k.cost_usd) as cost from booked k) as t where t.calls > 0
                """)
        }
    }
}

/// A call as the ledger has it now.
private struct PastCall: JSONReadable, Sendable {
    var account: UUID
    var turn: UUID
    var attempt: Int
    var call: Int
    var revision: Int
    var name: ModelName
    var usage: TokenUsage
    /// What is known of the cost.
    var nanodollars: Int64
    var isUnpriced: Bool
    var isEstimated: Bool
    /// It took no tokens, so it cost nothing at any price: its owner knew that no provider had accepted it, and took back what recovery had estimated.
    var isEmpty: Bool { usage.totalInput == 0 && usage.totalOutput == 0 }

    init(_ json: JSONReader) throws(JSONFinding) {
        account = try json.required("account_id")
        turn = try json.required("turn_id")
        attempt = try json.required("attempt")
        call = try json.required("call")
        revision = try json.required("revision")
        name = try ModelName(stored: json)
        usage = try TokenUsage(stored: json)
        nanodollars = try json.required("nanodollars")
        isUnpriced = try json.required("unpriced", as: Int.self) != 0
        isEstimated = try json.required("estimated")
    }
}

/// The difference between a call's cost and what is booked of it.
private struct Correction: StoredWritable {
    var call: PastCall
    var nanodollars: Int64
    var unpriced: Int

    /// nil when nothing differs. `cost`: nil without a price.
    init?(_ call: PastCall, cost: Nanodollars?) {
        self.call = call
        nanodollars = (cost?.raw ?? 0) - call.nanodollars
        unpriced = (cost == nil ? 1 : 0) - (call.isUnpriced ? 1 : 0)
        if nanodollars == 0, unpriced == 0 { return nil }
    }

    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("account_id", call.account.canonicalText)
            json.field("turn_id", call.turn.canonicalText)
            json.field("attempt", call.attempt)
            json.field("call", call.call)
            json.field("revision", call.revision)
            json.field("nanodollars", nanodollars)
            json.field("unpriced", unpriced)
        }
    }
}
