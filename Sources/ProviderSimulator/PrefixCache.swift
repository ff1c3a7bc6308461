import Synchronization

/// Counts how much of a prompt a provider's cache would serve: its longest prefix that an earlier prompt for the same model had. OpenAI's rule without
/// marks: in steps of 128 tokens, from 1,024 on. With marks Anthropic's: whole messages from 1,024 tokens on; kept is what ends with a mark.
final class PrefixCache: Sendable {
    private static let shortest = 1_024
    private static let step = 128
    /// Bounds the memory; then everything is forgotten.
    private static let mostPrefixes = 1 << 20

    private let known = Mutex<Set<Int>>([])

    /// Tokens of the prompt that are read and written.
    func look(up request: ChatRequest) -> (read: Int, written: Int) {
        let all = Self.prefixes(of: request)
        // What follows the last mark is not looked for.
        let prefixes = all.prefix((all.lastIndex(where: \.isKept) ?? -1) + 1)
        return known.withLock { known in
            let read = prefixes.last { known.contains($0.hash) }?.tokens ?? 0
            if known.count > Self.mostPrefixes { known = [] }
            known.formUnion(prefixes.filter(\.isKept).map(\.hash))
            return (read, request.hasCacheMarks ? max(0, (prefixes.last?.tokens ?? 0) - read) : 0)
        }
    }

    /// Those that are looked for, shortest first.
    private static func prefixes(of request: ChatRequest) -> [(tokens: Int, hash: Int, isKept: Bool)] {
        var prefixes: [(tokens: Int, hash: Int, isKept: Bool)] = []
        var hasher = Hasher()
        hasher.combine(request.model)
        var tokens = 0
        func take(_ piece: String) {
            hasher.combine(piece)
            tokens += 1
            if !request.hasCacheMarks, tokens >= shortest, tokens % step == 0 { prefixes.append((tokens, hasher.finalize(), true)) }
        }
        for turn in request.turns {
            // As `ChatRequest.promptTokens` counts.
            for part in ["<", turn.role, ">"] { take(part) }
            for piece in Tokenizer.pieces(of: turn.text) { take(piece) }
            if request.hasCacheMarks, tokens >= shortest { prefixes.append((tokens, hasher.finalize(), turn.isCacheMark)) }
        }
        return prefixes
    }
}
