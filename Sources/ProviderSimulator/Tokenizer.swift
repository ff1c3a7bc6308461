/// A deterministic stand-in for a model's tokenizer: a token is a run of at most six scalars that begins, like real ones, at a space.
/// English prose comes out at about four characters a token.
enum Tokenizer {
    private static let longest = 6

    /// The tokens of a text; joined they are the text. Cuts fall between Unicode scalars, also inside a grapheme, as real ones do.
    static func pieces(of text: String) -> [String] {
        var pieces: [String] = []
        var piece = String.UnicodeScalarView()
        scan(text) { scalar, begins in
            if begins, !piece.isEmpty {
                pieces.append(String(piece))
                piece.removeAll(keepingCapacity: true)
            }
            piece.append(scalar)
        }
        if !piece.isEmpty { pieces.append(String(piece)) }
        return pieces
    }

    /// The number of tokens of a text.
    static func count(_ text: String) -> Int {
        var count = 0
        scan(text) { _, begins in if begins { count += 1 } }
        return count
    }

    private static func scan(_ text: String, _ visit: (Unicode.Scalar, _ begins: Bool) -> Void) {
        var length = 0
        var hasLetters = false
        for scalar in text.unicodeScalars {
            let isSpace = scalar == " " || scalar == "\n"
            let begins = length == 0 || length == longest || (isSpace && hasLetters)
            if begins {
                length = 0
                hasLetters = false
            }
            length += 1
            hasLetters = hasLetters || !isSpace
            visit(scalar, begins)
        }
    }
}
