import CoachCore
import Foundation
import JSON
import PostgresClient

extension Figures {
    /// Figures in PostgreSQL, mostly sums of the rollups, through functions that check the caller's role.
    public static func postgres(client: PostgresClient) -> Figures {
        Figures(
            table: { caller, figure, query in try await client.figureTable(figure, query, for: caller) },
            calls: { caller, query, page in try await client.callTable(query, page, for: caller) },
            retentionUsers: { caller, query, page in try await client.retentionUserTable(query, page, for: caller) },
            reports: { caller, page in try await client.reportTable(page, for: caller) },
            alerts: { caller, isFiring, page in try await client.alertTable(isFiring: isFiring, page, for: caller) },
            health: { caller in
                try await client.operatorQuery(
                    "select \(present), provider, model, breaker, instances, open_instances, true from operator.provider_health()",
                    for: caller
                ) { rows in try FigureTable(rows, .health) }
            },
            measures: { caller in
                let names = AlertRule.Measure.allCases.map(\.rawValue)
                return try await client.operatorQuery(
                    "select \(present), measure, value, true from operator.measures(\(names)::text[])", for: caller
                ) { rows in try FigureTable(rows, .measures) }
            })
    }

    // Subqueries, or else each row would call the function.
    static let asOf: Query = "(select (extract(epoch from gateway.figures_as_of()) * 1000000)::bigint)"
    static let billingAsOf: Query =
        "(select (extract(epoch from gateway.subscription_figures_as_of()) * 1000000)::bigint)"
    /// For what is not kept in rollups.
    fileprivate static let present: Query = "(extract(epoch from now()) * 1000000)::bigint"
}

extension PostgresClient {
    /// Throws `InvalidFigureQuery` and `InvalidCursor`.
    fileprivate func figureTable(_ figure: Figure, _ query: FigureQuery, for caller: Caller) async throws -> FigureTable {
        let statement = try query.statement(of: figure)
        let limit = query.limit
        do {
            return try await operatorQuery(statement, for: caller, except: [SQLState.invalidParameter]) { rows in
                var table = try FigureTable(rows, figure)
                if table.rows.count > limit {
                    table.rows.removeLast(table.rows.count - limit)
                    table.nextCursor = table.rows.last.map { FigureCursor($0, figure).text }
                }
                return table
            }
        } catch let error as PostgresError where error.sqlState == SQLState.invalidParameter {
            throw InvalidFigureQuery()
        }
    }

    fileprivate func callTable(_ query: CallQuery, _ page: PageRequest, for caller: Caller) async throws -> FigureTable {
        let cursor = try page.dayAndKeys(count: 5)
        // PostgreSQL reads them only when there are rows to compare.
        if let numbers = cursor?.suffix(2), numbers.contains(where: { Int32($0) == nil }) { throw InvalidCursor() }
        let filter = JSONWriter.encode { json in
            json.object { json in
                for (name, value) in query.filter {
                    json.key(name)
                    if let value { json.string(value) } else { json.null() }
                }
            }
        }
        let statement: Query = """
            select \(Figures.asOf), day, case when purpose <> 'summary' then turn_id end, attempt, call, purpose, user_id, conversation_id,
                persona_id, domain, tier, provider, model,
                calls, input_tokens, cached_input_tokens, output_tokens, cost, unpriced, estimated, status, error_code, error,
                time_to_first_token_ms, duration_ms, (extract(epoch from started_at) * 1000000)::bigint,
                (extract(epoch from booked_at) * 1000000)::bigint,
                case when day is not null then concat_ws('/', day, account_id, coalesce(turn_id, account_id), attempt, call) end
            from (values (1)) as one (n) left join operator.calls(
                \(query.period.lowerBound.epoch), \(query.period.upperBound.epoch), \(String(decoding: filter, as: UTF8.self))::jsonb,
                \(cursor)::text[], \(page.limit + 1)::integer) on true
            """
        return try await self.page(statement, for: caller, .calls, page)
    }

    fileprivate func retentionUserTable(_ query: RetentionQuery, _ page: PageRequest, for caller: Caller) async throws -> FigureTable {
        let cursor = try page.dayAndKeys(count: 3)
        let statement: Query = """
            select \(Figures.asOf), (extract(epoch from cohort) * 1000000)::bigint, week, user_id, days, active_days, turns,
                case when cohort is not null then concat_ws('/', (cohort at time zone 'UTC')::date, week, account_id) end
            from (values (1)) as one (n) left join operator.retention_users(
                \(query.period.lowerBound.epoch), \(query.period.upperBound.epoch),
                to_timestamp(\(query.cohort?.timeIntervalSince1970)::double precision), \(query.week)::bigint, \(cursor)::text[],
                \(page.limit + 1)::integer) on true
            """
        return try await self.page(statement, for: caller, .retentionUsers, page)
    }

    fileprivate func reportTable(_ page: PageRequest, for caller: Caller) async throws -> FigureTable {
        let cursor = try page.keys(count: 2)
        let statement: Query = """
            select \(Figures.present), id, (extract(epoch from created_at) * 1000000)::bigint, user_id, persona_id, message_id, reason, comment,
                concat_ws('/', (extract(epoch from created_at) * 1000000)::bigint, id)
            from operator.reports(
                to_timestamp(\(cursor?[0])::numeric / 1000000), \(cursor?[1])::uuid, \(page.limit + 1)::integer)
            """
        return try await self.page(statement, for: caller, .reports, page)
    }

    fileprivate func alertTable(isFiring: Bool?, _ page: PageRequest, for caller: Caller) async throws -> FigureTable {
        let cursor = try page.keys(count: 1)
        let statement: Query = """
            select \(Figures.present), id, rule, measure, severity, state, value, threshold, (extract(epoch from started_at) * 1000000)::bigint,
                (extract(epoch from resolved_at) * 1000000)::bigint, id
            from operator.alerts(\(isFiring)::boolean, \(cursor?[0])::bigint, \(page.limit + 1)::integer)
            """
        return try await self.page(statement, for: caller, .alerts, page)
    }

    /// A page by keys: the column after the figure's is the cursor of the row, NULL for none.
    fileprivate func page(
        _ statement: Query, for caller: Caller, _ figure: Figure, _ page: PageRequest
    ) async throws -> FigureTable {
        do {
            return try await operatorQuery(statement, for: caller, except: SQLState.invalidTexts) { rows in
                var table = try FigureTable(rows, figure)
                if table.rows.count > page.limit {
                    table.rows.removeLast(table.rows.count - page.limit)
                    table.nextCursor = rows.text(page.limit - 1, FigureTable.firstColumn + figure.columns.count)
                }
                return table
            }
        } catch let error as PostgresError where SQLState.invalidTexts.contains(error.sqlState ?? "") {
            throw InvalidCursor()
        }
    }
}

extension PageRequest {
    /// The keys of the last row of the page before; nil for the first page. Throws `InvalidCursor`.
    fileprivate func keys(count: Int) throws(InvalidCursor) -> [String]? {
        guard let cursor else { return nil }
        let keys = cursor.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        // PostgreSQL's texts have no U+0000.
        guard keys.count == count, !cursor.utf8.contains(0) else { throw InvalidCursor() }
        return keys
    }

    /// The same, when the first key is a day. PostgreSQL would read other texts as a day, too, such as a time with a zone, and rejects some of them by
    /// other codes than `SQLState.invalidTexts`.
    fileprivate func dayAndKeys(count: Int) throws(InvalidCursor) -> [String]? {
        let found = try keys(count: count)
        if let day = found?.first, CalendarDay(day) == nil { throw InvalidCursor() }
        return found
    }
}
