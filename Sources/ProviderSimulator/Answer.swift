/// The text of a simulated answer as tokens, and its finish reason.
struct Answer: Sendable, Equatable {
    var pieces: [String]
    var finishReason: String

    init(script: Script, request: ChatRequest) {
        pieces = Self.pieces(script: script, request: request)
        finishReason = script.finishReason ?? "stop"
    }

    private static func pieces(script: Script, request: ChatRequest) -> [String] {
        if script.empty == true { return [] }
        if let tokens = script.tokens { return tokens }
        if let text = script.text { return Tokenizer.pieces(of: text) }
        if let count = script.words { return words(count, seed: script.seed ?? 0) }
        if script.unicode == true { return Tokenizer.pieces(of: difficultText) }
        return Tokenizer.pieces(of: CoachReply.text(to: request.lastUserText))
    }

    /// Truncates the answer before the first occurrence of a stop sequence.
    mutating func apply(stops: [String]) {
        let bytes = pieces.flatMap { Array($0.utf8) }
        guard let end = stops.compactMap({ Self.firstIndex(of: Array($0.utf8), in: bytes) }).min() else { return }
        var kept: [String] = []
        var position = 0
        for piece in pieces where position < end {
            let part = piece.utf8.prefix(end - position)
            kept.append(String(decoding: part, as: UTF8.self))
            position += part.count
        }
        pieces = kept
        finishReason = "stop"
    }

    /// Truncates the answer to `limit` tokens.
    mutating func apply(limit: Int?) {
        guard let limit, pieces.count > limit else { return }
        pieces.removeLast(pieces.count - limit)
        finishReason = "length"
    }

    private static func firstIndex(of needle: [UInt8], in bytes: [UInt8]) -> Int? {
        guard !needle.isEmpty, needle.count <= bytes.count else { return nil }
        return (0...(bytes.count - needle.count)).first { bytes[$0...].starts(with: needle) }
    }

    private static func words(_ count: Int, seed: UInt64) -> [String] {
        var random = SeededRandom(seed: seed)
        return (0..<count).map { index in
            // The vocabulary is not empty; the literal only satisfies the compiler.
            let word = vocabulary.randomElement(using: &random) ?? "and"
            return index == 0 ? word : " " + word
        }
    }

    private static let vocabulary = """
        and then we look at one small step that you can take with care today because progress is often quiet steady kind patient \
        honest brave simple clear warm open calm strong gentle moment breath choice habit goal week morning evening friend value café
        """.split(separator: " ").map(String.init)

    /// Text that often breaks parsers: U+2028, U+2029, U+0085, joined emoji, combining marks, wide and right-to-left letters.
    static let difficultText =
        "A line\u{2028}a paragraph\u{2029}a next line\u{85}a tab\tquotes \"'\\ and a family 👩‍👩‍👧‍👦, a flag 🏳️‍🌈, "
        + "cafe\u{301} with a combining accent, Zażółć gęślą jaźń, 日本語の文章, שלום, مرحبا, 𝒞oach \u{FEFF}and zero\u{200B}width. ☀️"
}
