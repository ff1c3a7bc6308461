/// A deterministic approximation of a model's tokenizer: a token has at most six scalars and begins, as real ones do, at a space. English
/// prose has about four characters per token.
enum Tokenizer {
    private static let maximumLength = 6

    /// Splits a text into tokens. Splits only between Unicode scalars, but also inside a grapheme, as real tokenizers do.
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
            let begins = length == 0 || length == maximumLength || (isSpace && hasLetters)
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
