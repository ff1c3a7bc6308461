import CoachCore
import JSON

extension FigureTable {
    /// Values of columns by name, as text.
    func texts(_ figure: Figure, _ names: [String]) -> [[String]] {
        rows.map { row in
            names.map { name in
                guard let index = figure.columns.firstIndex(where: { $0.name == name }) else { return "no column \(name)" }
                return switch row[index] {
                case .null: "-"
                case .time(let time): time.rfc3339
                case .text(let text), .number(let text): text
                case .integer(let number): "\(number)"
                case .money(let amount): "\(amount.raw)"
                case .flag(let flag): "\(flag)"
                case .few: "<5"
                }
            }
        }
    }
}

extension Figure {
    /// The figure at a path.
    static func all(_ path: String) -> Figure { all.first { $0.path == path } ?? costs }
}
