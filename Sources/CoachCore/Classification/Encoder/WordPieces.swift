/// Splits words into the pieces of a vocabulary, longest first (WordPiece; Devlin et al., "BERT", 2018).
struct WordPieces: Sendable {
    /// Marks a piece that continues a word.
    private static let continuation = Array("##".utf8)
    /// A longer word is one unknown piece, which bounds the work.
    private static let longestWord = 64

    private let starts: [[UInt8]: Int]
    private let continuations: [[UInt8]: Int]
    private let longestPiece: Int
    let first: Int
    let last: Int
    private let unknown: Int

    /// - Parameter pieces: in the order of their numbers, UTF-8. Nil without the pieces `[CLS]`, `[SEP]` and `[UNK]`.
    init?(_ pieces: [[UInt8]]) {
        var starts: [[UInt8]: Int] = [:]
        var continuations: [[UInt8]: Int] = [:]
        for (number, piece) in pieces.enumerated() {
            if piece.starts(with: WordPieces.continuation) {
                continuations[Array(piece.dropFirst(WordPieces.continuation.count))] = number
            } else {
                starts[piece] = number
            }
        }
        guard let first = starts[Array("[CLS]".utf8)], let last = starts[Array("[SEP]".utf8)], let unknown = starts[Array("[UNK]".utf8)]
        else { return nil }
        (self.starts, self.continuations) = (starts, continuations)
        (self.first, self.last, self.unknown) = (first, last, unknown)
        longestPiece = pieces.reduce(1) { max($0, $1.count) }
    }

    /// The numbers of a word's pieces. The word is folded: lower case, without accents.
    func append(_ word: ArraySlice<UInt8>, to numbers: inout [Int]) {
        let count = numbers.count
        var start = word.startIndex
        while start < word.endIndex {
            guard word.count <= WordPieces.longestWord, let (number, end) = longest(word[start...], start == word.startIndex) else {
                numbers.replaceSubrange(count..., with: [unknown])
                return
            }
            numbers.append(number)
            start = end
        }
    }

    private func longest(_ rest: ArraySlice<UInt8>, _ startsWord: Bool) -> (number: Int, end: Int)? {
        let table = startsWord ? starts : continuations
        var end = min(rest.endIndex, rest.startIndex + longestPiece)
        while end > rest.startIndex {
            if let number = table[Array(rest[..<end])] { return (number, end) }
            end -= 1
        }
        return nil
    }
}
