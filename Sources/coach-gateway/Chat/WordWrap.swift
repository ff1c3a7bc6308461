/// Breaks a text that arrives in pieces into lines at its spaces. Pure.
///
/// A word is held back until it is known to be complete, so that it can still begin the next line.
struct WordWrap {
    /// Columns; nil: lines are not broken.
    let width: Int?
    private var column = 0
    private var spaces = 0
    private var word = ""

    init(width: Int?) { self.width = width.map { max($0, 8) } }

    /// What can be shown after this piece.
    mutating func add(_ piece: String) -> String {
        guard let width else { return piece }
        var shown = ""
        for character in piece {
            if character.isNewline {
                shown += flush() + "\n"
                (column, spaces) = (0, 0)
            } else if character == " " || character == "\t" {
                shown += flush()
                spaces += 1
            } else {
                word.append(character)
                // A text without spaces, or of a script that has none, may break anywhere.
                if Self.columns(of: character) == 2 || word.count >= width { shown += flush() }
            }
        }
        return shown
    }

    /// What was held back.
    mutating func finish() -> String { flush() }

    private mutating func flush() -> String {
        guard let width, !word.isEmpty else { return "" }
        defer { word = "" }
        var shown = ""
        if column > 0, column + spaces + Self.columns(of: word) > width {
            shown = "\n"
            column = 0
        } else {
            shown = String(repeating: " ", count: spaces)
            column += spaces
        }
        spaces = 0
        // A word that is longer than a line, or a text without spaces.
        for character in word {
            let columns = Self.columns(of: character)
            if column + columns > width {
                shown += "\n"
                column = 0
            }
            shown.append(character)
            column += columns
        }
        return shown
    }

    private static func columns(of text: String) -> Int { text.reduce(0) { $0 + columns(of: $1) } }

    /// Terminals give two columns to East Asian wide characters and emoji (Unicode TR 11).
    private static func columns(of character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        let wide: [ClosedRange<UInt32>] = [
            0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
            0x1F300...0x1FAFF, 0x20000...0x3FFFD,
        ]
        return wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }
}
