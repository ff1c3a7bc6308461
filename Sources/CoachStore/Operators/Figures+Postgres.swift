import CoachCore
import Foundation
import JSON
import PostgresClient

extension Figures {
    /// Figures in PostgreSQL, mostly sums of the rollups, through functions that check the caller's role.
    public static func postgres(client: PostgresClient) -> Figures {
        Figures(
            table: { caller, figure, query in
                let statement = try query.statement(of: figure)
                let limit = query.limit
                do {
                    return try await client.operatorQuery(statement, for: caller, except: [SQLState.invalidParameter]) { rows in
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
            },
            calls: { caller, query, page in
                let cursor = try page.keys(count: 5)
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
                    select \(asOf), day, case when purpose <> 'summary' then turn_id end, attempt, call, purpose, user_id, conversation_id, persona_id, domain, tier, provider, model,
                        calls, input_tokens, cached_input_tokens, output_tokens, cost, unpriced, estimated, status, error_code, error,
                        time_to_first_token_ms, duration_ms, (extract(epoch from started_at) * 1000000)::bigint,
                        (extract(epoch from booked_at) * 1000000)::bigint,
                        case when day is not null then concat_ws('/', day, account_id, coalesce(turn_id, account_id), attempt, call) end
                    from (values (1)) as one (n) left join operator.calls(
                        \(query.period.lowerBound.epoch), \(query.period.upperBound.epoch), \(String(decoding: filter, as: UTF8.self))::jsonb,
                        \(cursor)::text[], \(page.limit + 1)::integer) on true
                    """
                return try await client.page(statement, for: caller, .calls, page)
            },
            retentionUsers: { caller, query, page in
                let cursor = try page.keys(count: 3)
                let statement: Query = """
                    select \(asOf), (extract(epoch from cohort) * 1000000)::bigint, week, user_id, days, active_days, turns,
                        case when cohort is not null then concat_ws('/', (cohort at time zone 'UTC')::date, week, account_id) end
                    from (values (1)) as one (n) left join operator.retention_users(
                        \(query.period.lowerBound.epoch), \(query.period.upperBound.epoch),
                        to_timestamp(\(query.cohort?.timeIntervalSince1970)::double precision), \(query.week)::bigint, \(cursor)::text[],
                        \(page.limit + 1)::integer) on true
                    """
                return try await client.page(statement, for: caller, .retentionUsers, page)
            },
            reports: { caller, page in
                let cursor = try page.keys(count: 2)
                let statement: Query = """
                    select \(present), id, (extract(epoch from created_at) * 1000000)::bigint, user_id, persona_id, message_id, reason, comment,
                        concat_ws('/', (extract(epoch from created_at) * 1000000)::bigint, id)
                    from operator.reports(
                        to_timestamp(\(cursor?[0])::numeric / 1000000), \(cursor?[1])::uuid, \(page.limit + 1)::integer)
                    """
                return try await client.page(statement, for: caller, .reports, page)
            },
            alerts: { caller, isFiring, page in
                let cursor = try page.keys(count: 1)
                let statement: Query = """
                    select \(present), id, rule, measure, severity, state, value, threshold, (extract(epoch from started_at) * 1000000)::bigint,
                        (extract(epoch from resolved_at) * 1000000)::bigint, id
                    from operator.alerts(\(isFiring)::boolean, \(cursor?[0])::bigint, \(page.limit + 1)::integer)
                    """
                return try await client.page(statement, for: caller, .alerts, page)
            },
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
    fileprivate static let asOf: Query = "(select (extract(epoch from gateway.figures_as_of()) * 1000000)::bigint)"
    fileprivate static let billingAsOf: Query =
        "(select (extract(epoch from gateway.subscription_figures_as_of()) * 1000000)::bigint)"
    /// For what is not kept in rollups.
    private static let present: Query = "(extract(epoch from now()) * 1000000)::bigint"
}

extension FigureQuery {
    /// Of each row the time up to which the figure is complete, its values and its number. Throws `InvalidCursor`.
    fileprivate func statement(of figure: Figure) throws -> Query {
        let after = try cursor.map { try FigureCursor(text: $0, figure) }
        var statement: Query = "select \(figure.isOfBillingEvents ? Figures.billingAsOf : Figures.asOf)"
        statement.append(Query(unsafeSQL: ", " + figure.values))
        let paging = figure.paging(groups)
        // The rows' numbers tell a table without rows from one row of nulls.
        statement.append(Query(unsafeSQL: ", f.number from (values (1)) as one (n) left join lateral rows from (operator."))
        statement.append(Query(unsafeSQL: paging.function ?? figure.function))
        statement.append(
            """
            (\(period.lowerBound.epoch), \(period.upperBound.epoch), \(groups)::text[], \(grain.rawValue), \
            \(timeZone)
            """)
        if paging.function != nil { statement.append(", \(limit + 1)::bigint, \(after?.keys)::text[]") }
        if let users { statement.append(", \(Array(users))::uuid[]") }
        if case .byBuckets = paging { statement.append(Query(unsafeSQL: ", '\(figure.function)') as (\(figure.declarations)")) }
        statement.append(Query(unsafeSQL: ")) with ordinality as f (\(figure.names), number) on "))
        statement.append(paging.isInOrder ? "true" : after?.condition ?? "true")
        statement.append(Query(unsafeSQL: " order by \(paging.isInOrder ? "f.number" : FigureCursor.order(figure)) limit "))
        statement.append("\(limit + 1)::bigint")
        return statement
    }
}

extension Figure.Paging {
    /// That reads a page alone.
    fileprivate var function: String? {
        switch self {
        case .ofAll: nil
        case .byBuckets: "figure_page"
        case .function(let name): name
        }
    }

    /// Whether the function returns the page's rows in their order, and no others.
    fileprivate var isInOrder: Bool {
        if case .function = self { true } else { false }
    }
}

extension PostgresClient {
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
}

extension Figure {
    /// The columns of the function by position.
    fileprivate var names: String { columns.indices.map { "c\($0)" }.joined(separator: ", ") }

    /// The same with their types, for a function that returns records.
    fileprivate var declarations: String { columns.enumerated().map { "c\($0) \($1.kind.type)" }.joined(separator: ", ") }

    fileprivate var values: String {
        columns.enumerated().map { index, column in
            column.kind == .time ? "(extract(epoch from f.c\(index)) * 1000000)::bigint" : "f.c\(index)"
        }.joined(separator: ", ")
    }
}

extension FigureColumn.Kind {
    /// In the database.
    fileprivate var type: String {
        switch self {
        case .time: "timestamptz"
        case .id: "uuid"
        case .text: "text"
        case .domain: "public.coaching_domain"
        case .integer, .count, .money: "bigint"
        case .number: "numeric"
        case .measured: "double precision"
        case .flag: "boolean"
        }
    }
}

extension FigureValue {
    /// nil for what is no amount, or more than a billion.
    fileprivate init?(dollars text: String) {
        guard let dollars = Double(text), dollars.magnitude < 1e9 else { return nil }
        self = .money(Nanodollars(Int64((dollars * 1e9).rounded())))
    }
}

extension FigureTable {
    /// The place of the figure's first column in the rows.
    fileprivate static let firstColumn = 1

    /// The first column is the time of which the figures are. The column after the figure's last is NULL when there are no rows.
    fileprivate init(_ rows: borrowing Rows, _ figure: Figure) throws {
        let first = Self.firstColumn
        let measure = figure.columns.firstIndex { $0.name == "measure" }
        var table: [[FigureValue]] = []
        table.reserveCapacity(rows.count)
        for index in 0..<rows.count where !rows.isNull(index, first + figure.columns.count) {
            let isMoney = measure.map { rows.text(index, first + $0) == AlertRule.Measure.cost.rawValue } ?? false
            table.append(
                try figure.columns.indices.map { column in
                    let declared = figure.columns[column]
                    return try rows.withBytes(index, first + column) { field in
                        guard let field else { return declared.kind == .count ? .few : .null }
                        // Dollars as a double, of which PostgreSQL writes small ones with an exponent.
                        if isMoney, declared.kind == .measured, let value = FigureValue(dollars: String(decoding: field, as: UTF8.self)) {
                            return value
                        }
                        guard let value = FigureValue(field, declared.kind) else {
                            throw StoreFault.unexpected("the column \(declared.name) is not of its kind")
                        }
                        return value
                    }
                })
        }
        self.init(rows: table)
        asOf = try rows.first { row in try row.date(0) } ?? nil
    }
}

extension FigureValue {
    /// From the server's text form.
    fileprivate init?(_ field: UnsafeRawBufferPointer, _ kind: FigureColumn.Kind) {
        switch kind {
        case .time:
            guard let microseconds = Int64(column: field) else { return nil }
            self = .time(Timestamp(Date(microseconds: microseconds)))
        case .id, .text, .domain: self = .text(String(decoding: field, as: UTF8.self))
        case .integer, .count:
            guard let number = Int64(column: field) else { return nil }
            self = .integer(number)
        case .number, .measured:
            let text = String(decoding: field, as: UTF8.self)
            guard let number = Double(text), number.isFinite else { return nil }
            self = .number(text)
        case .money:
            guard let number = Int64(column: field) else { return nil }
            self = .money(Nanodollars(number))
        case .flag: self = .flag(field.first == UInt8(ascii: "t"))
        }
    }
}

extension Date {
    /// As a parameter.
    fileprivate var epoch: Query { "to_timestamp(\(timeIntervalSince1970)::double precision)" }
}
