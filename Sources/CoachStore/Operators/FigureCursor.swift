import CoachCore
import Foundation
import JSON
import PostgresClient

/// The position after a page of a figure: the keys of its last row. Rows that are added or removed between two pages move no other ones.
///
/// As text, opaque to clients: the keys in percent-encoding, `-` for null, separated by `/`.
struct FigureCursor {
    private let figure: Figure
    /// In the order of the figure's key columns; times are microseconds since 1970.
    let keys: [String?]

    /// The position after a row.
    init(_ row: [FigureValue], _ figure: Figure) {
        self.figure = figure
        keys = Self.columns(figure).map { index in
            switch row[index] {
            case .time(let time): "\(time.millisecondsSince1970 * 1000)"
            case .integer(let number): "\(number)"
            case .text(let text): text
            default: nil
            }
        }
    }

    /// Throws `InvalidCursor` for what is no position in this figure.
    init(text: String, _ figure: Figure) throws(InvalidCursor) {
        let (parts, columns) = (text.split(separator: "/", omittingEmptySubsequences: false), Self.columns(figure))
        guard parts.count == columns.count else { throw InvalidCursor() }
        var keys: [String?] = []
        for (part, index) in zip(parts, columns) {
            guard part != "-" else {
                keys.append(nil)
                continue
            }
            guard let key = String(part).removingPercentEncoding, Self.isKey(key, figure.columns[index].kind) else { throw InvalidCursor() }
            keys.append(key)
        }
        self.figure = figure
        self.keys = keys
    }

    var text: String {
        keys.map { $0.map { $0.addingPercentEncoding(withAllowedCharacters: Self.unescaped) ?? "" } ?? "-" }.joined(separator: "/")
    }

    /// Whether a row `f` of the figure's function, with columns `c0`, `c1`, …, comes after the position.
    var condition: Query {
        // From the last key to the first: greater, or equal and the next ones are after.
        zip(Self.columns(figure), keys).reversed().reduce("false") { (later: Query, pair: (Int, String?)) -> Query in
            let (index, key) = pair
            let column = Query(unsafeSQL: Self.ordered(index, figure))
            // NULL comes after all other values.
            guard let key else { return "(\(column) is null and \(later))" }
            let value: Query =
                figure.columns[index].kind == .time
                ? "(timestamptz 'epoch' + \(key)::bigint * interval '1 microsecond')" : "\(key)"
            return "(\(column) > \(value) or \(column) is null or (\(column) = \(value) and \(later)))"
        }
    }

    /// The columns by which rows are in order.
    static func order(_ figure: Figure) -> String {
        columns(figure).map { ordered($0, figure) }.joined(separator: ", ")
    }

    private static let unescaped = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyz0123456789")

    private static func columns(_ figure: Figure) -> [Int] { figure.columns.indices.filter { figure.columns[$0].isKey } }

    /// Texts are compared by bytes, as in the rollups.
    private static func ordered(_ index: Int, _ figure: Figure) -> String {
        figure.columns[index].kind == .text ? "f.c\(index) collate \"C\"" : "f.c\(index)"
    }

    /// Whether PostgreSQL can read the text as a key of this kind.
    private static func isKey(_ text: String, _ kind: FigureColumn.Kind) -> Bool {
        switch kind {
        case .time: Int64(text).map { PageCursor.times.contains($0) } ?? false
        case .id: UUID(canonical: text) != nil
        case .domain: Domain(rawValue: text) != nil
        case .integer: Int64(text) != nil
        // PostgreSQL's texts have no U+0000.
        default: !text.utf8.contains(0)
        }
    }
}
