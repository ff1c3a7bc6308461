import CoachCore
import GatewayAPI
import HTTPEdge
import JSON

extension Figure {
    /// A row.
    var schema: Schema { .object(columns.map(\.field)).named(schemaName) }

    /// A row that may have the measures of the period before.
    var comparedSchema: Schema {
        let previous = columns.filter { !$0.isKey }.map { column -> Schema.Field in
            let field = column.previous.field
            return .init(field.name, field.schema, required: false)
        }
        return .object(columns.map(\.field) + previous).named(schemaName)
    }

    private var schemaName: String {
        let words = path.split { $0 == "/" || $0 == "-" }.map { $0.prefix(1).uppercased() + $0.dropFirst() }
        return "Figure" + words.joined()
    }

    var parameters: [RouteParameter] {
        var parameters = FigurePeriod.parameters
        if !groups.isEmpty {
            let names = groups.joined(separator: ", ")
            parameters.append(.init("group_by", in: .query, .text.described("any of \(names), separated by commas")))
        }
        parameters.append(.init("grain", in: .query, .values(FigureQuery.Grain.allCases.map(\.rawValue))))
        parameters.append(.init("tz", in: .query, .text.described("an IANA time zone, of days and weeks; UTC by default")))
        return parameters + [
            .init(
                "compare", in: .query,
                .values(["previous"]).described(
                    "adds previous_… of the period before, of at most \(FigureRoutes.longestTable) rows, to each measure; "
                        + "groups that only it has are in answers of one page")),
            .init(
                "limit", in: .query,
                .integer(1...FigureRoutes.longestTable).described("\(FigureRoutes.usualTable) unless given")),
            .init("cursor", in: .query, .text),
        ]
    }
}

extension FigureColumn {
    var field: Schema.Field {
        let schema: Schema =
            switch kind {
            case .time: .time
            case .id: .id
            case .text, .domain: .text
            case .integer: .integer
            case .count: Schema.any.described("an integer of \(FigureValue.smallestCount) or more, or \"\(FigureValue.hidden)\"")
            case .number: .number
            case .money: .money
            case .measured: Schema.any.described("a number; a decimal string when the measure is an amount of US dollars")
            case .flag: .boolean
            }
        return .init(name, isNullable ? schema.nullable : schema)
    }
}

extension FigureValue {
    fileprivate static let hidden = "<\(smallestCount)"

    func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .time(let time): writer.string(time.rfc3339)
        case .text(let text): writer.string(text)
        case .integer(let number): writer.integer(number)
        case .few: writer.string(Self.hidden)
        case .number(let text): writer.raw(text.utf8)
        case .money(let amount): writer.string(MoneyText.format(nanodollars: amount.raw))
        case .flag(let flag): writer.bool(flag)
        }
    }
}
