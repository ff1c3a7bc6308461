import CoachCore
import Foundation
import PostgresClient

extension FigureQuery {
    /// Reads for each row the time up to which the figure is complete, its values and its number. Throws `InvalidCursor`.
    func statement(of figure: Figure) throws -> Query {
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
    /// The function that reads a single page.
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

extension Date {
    /// As a parameter.
    var epoch: Query { "to_timestamp(\(timeIntervalSince1970)::double precision)" }
}
