/// Surrounds messages with ordinary ones of their language.
struct SurroundingText {
    /// Characters of other messages, about half of them on each side.
    static let length = 500

    private let texts: [String: [String]]

    /// - Parameter rows: ordinary rows that have no card by themselves.
    init(_ rows: [TrainingRow]) {
        texts = Dictionary(grouping: rows, by: \.language).mapValues { $0.map(\.text) }
    }

    /// The row's text among others, with a full stop after a text without punctuation at its end. Neighbouring places do not share all of them.
    func around(_ row: TrainingRow, place: Int) -> String {
        let others = (texts[row.language] ?? []).filter { $0 != row.text }
        var next = place * 7
        func side() -> [String] {
            var side: [String] = []
            while side.reduce(0, { $0 + $1.count }) < Self.length / 2, !others.isEmpty {
                side.append(Self.ended(others[next % others.count]))
                next += 1
            }
            return side
        }
        let before = side()
        return (before + [Self.ended(row.text)] + side()).joined(separator: " ")
    }

    private static func ended(_ text: String) -> String { ".!?…".contains(text.last ?? ".") ? text : text + "." }
}
