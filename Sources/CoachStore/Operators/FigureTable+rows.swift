import CoachCore
import Foundation
import JSON
import PostgresClient

extension FigureValue {
    /// nil for what is no amount, or more than a billion.
    fileprivate init?(dollars text: String) {
        guard let dollars = Double(text), dollars.magnitude < 1e9 else { return nil }
        self = .money(Nanodollars(Int64((dollars * 1e9).rounded())))
    }
}

extension FigureTable {
    /// The place of the figure's first column in the rows.
    static let firstColumn = 1

    /// The first column is the time of which the figures are. The column after the figure's last is NULL when there are no rows.
    init(_ rows: borrowing Rows, _ figure: Figure) throws {
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
