/// Identifies what a phrase stands for: a word class or marker of the grammar, a literal phrase of a pattern, or a routing term. From 0.
typealias Symbol = Int32

/// A trie of all phrases of the grammar and of the routing terms, over words. One lookup pass over a message serves crisis detection and
/// domain scoring.
struct Lexicon: Sendable {
    fileprivate var words: [UInt64: Int32] = [:]
    fileprivate var deletions: [UInt64: Int32] = [:]
    /// UTF-8 length of the longest word in `deletions`.
    fileprivate var longestCorrected = 0
    /// Edges of the trie: (node, word) → node. Node 0 is the root.
    fileprivate var edges: [UInt64: Int32] = [:]
    fileprivate var symbolsOfNode: [[Symbol]] = [[]]

    /// Minimum UTF-8 length of a word that is matched with a spelling mistake. Shorter words are too similar to other words.
    static let minimumCorrectedLength = 6

    /// Finds all known phrases at each token, with spelling correction.
    func annotate(_ sequence: TokenSequence) -> AnnotatedTokens {
        var annotated = AnnotatedTokens(tokens: sequence.tokens)
        let words = sequence.tokens.map { word(of: $0, in: sequence) }
        for start in words.indices {
            appendSpans(words, from: start, to: &annotated)
            annotated.closePosition()
        }
        return annotated
    }

    private func appendSpans(_ words: [Int32], from start: Int, to annotated: inout AnnotatedTokens) {
        let sentence = annotated.tokens[start].sentence
        var node: Int32 = 0
        var position = start
        while position < words.count, words[position] >= 0, annotated.tokens[position].sentence == sentence {
            guard let next = edges[Lexicon.edge(node, words[position])] else { return }
            node = next
            position += 1
            for symbol in symbolsOfNode[Int(node)] {
                annotated.append(AnnotatedTokens.Span(symbol: symbol, length: Int32(position - start)))
            }
        }
    }

    private func word(of token: Token, in sequence: TokenSequence) -> Int32 {
        if let known = words[token.hash] { return known }
        let bytes = sequence.bytes[token.bytes]
        if token.isElongated, let known = words[Lexicon.hashWithoutRuns(bytes)] { return known }
        // A deletion may make the typed word one letter shorter than the minimum.
        guard bytes.count >= Lexicon.minimumCorrectedLength - 1, !deletions.isEmpty else { return -1 }
        if let near = deletions[token.hash] { return near }
        // A known word with one letter added has `longestCorrected + 1` bytes at most. The limit also bounds the time, which grows with the square of
        // the length: a text without spaces is one word of up to 32,000 bytes.
        guard (Lexicon.minimumCorrectedLength...longestCorrected + 1).contains(bytes.count) else { return -1 }
        for omitted in bytes.indices {
            if let near = deletions[Lexicon.hash(bytes, omitting: omitted)] { return near }
        }
        return -1
    }

    fileprivate static func edge(_ node: Int32, _ word: Int32) -> UInt64 {
        UInt64(UInt32(bitPattern: node)) << 32 | UInt64(UInt32(bitPattern: word))
    }

    fileprivate static func hash(_ bytes: ArraySlice<UInt8>, omitting omitted: Int) -> UInt64 {
        var hash = WordHash()
        for index in bytes.indices where index != omitted { hash.add(bytes[index]) }
        return hash.value
    }

    private static func hashWithoutRuns(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        var hash = WordHash()
        var last: UInt8 = 0
        for byte in bytes where byte != last {
            hash.add(byte)
            last = byte
        }
        return hash.value
    }
}

/// An array indexed by symbol. Unlike a dictionary it needs no hashing per token.
struct SymbolTable<Value: Sendable>: Sendable {
    private var values: [Value?] = []

    /// nil for a symbol without a value.
    subscript(_ symbol: Symbol) -> Value? {
        get { Int(symbol) < values.count ? values[Int(symbol)] : nil }
        set {
            while values.count <= Int(symbol) { values.append(nil) }
            values[Int(symbol)] = newValue
        }
    }
}

/// Builds a `Lexicon`.
struct LexiconBuilder {
    private var lexicon = Lexicon()
    private var symbolCount: Symbol = 0

    /// A new symbol without phrases.
    mutating func makeSymbol() -> Symbol {
        defer { symbolCount += 1 }
        return symbolCount
    }

    /// Adds a phrase with its symbol. Folds the phrase like a message; ignores a phrase without words.
    mutating func add(_ phrase: String, as symbol: Symbol) {
        let sequence = TokenSequence(phrase: phrase)
        guard !sequence.tokens.isEmpty else { return }
        var node: Int32 = 0
        for token in sequence.tokens {
            let edge = Lexicon.edge(node, identifier(of: token.hash))
            if let next = lexicon.edges[edge] {
                node = next
            } else {
                lexicon.symbolsOfNode.append([])
                node = Int32(lexicon.symbolsOfNode.count - 1)
                lexicon.edges[edge] = node
            }
        }
        if !lexicon.symbolsOfNode[Int(node)].contains(symbol) { lexicon.symbolsOfNode[Int(node)].append(symbol) }
    }

    /// Also matches a word with one spelling mistake: a letter missing, added, replaced or swapped with its neighbour. Compares the known
    /// and the typed word with one letter deleted from each (symmetric delete, the algorithm of SymSpell). Ignores phrases and short words.
    mutating func correct(_ word: String) {
        let sequence = TokenSequence(phrase: word)
        guard let token = sequence.tokens.first, sequence.tokens.count == 1 else { return }
        let bytes = sequence.bytes[token.bytes]
        guard bytes.count >= Lexicon.minimumCorrectedLength else { return }
        let identifier = identifier(of: token.hash)
        lexicon.deletions[token.hash] = identifier
        lexicon.longestCorrected = max(lexicon.longestCorrected, bytes.count)
        for omitted in bytes.indices { lexicon.deletions[Lexicon.hash(bytes, omitting: omitted)] = identifier }
    }

    func build() -> Lexicon { lexicon }

    private mutating func identifier(of hash: UInt64) -> Int32 {
        if let known = lexicon.words[hash] { return known }
        let identifier = Int32(lexicon.words.count)
        lexicon.words[hash] = identifier
        return identifier
    }
}

/// The tokens of a message, annotated with the known phrases that start at each.
struct AnnotatedTokens {
    /// A known phrase.
    struct Span {
        var symbol: Symbol
        /// In tokens.
        var length: Int32
    }

    let tokens: [Token]
    private var spans: [Span] = []
    private var starts: [Int32] = [0]

    init(tokens: [Token]) {
        self.tokens = tokens
        spans.reserveCapacity(tokens.count * 4)
        starts.reserveCapacity(tokens.count + 1)
    }

    fileprivate mutating func append(_ span: Span) { spans.append(span) }

    fileprivate mutating func closePosition() { starts.append(Int32(spans.count)) }

    /// All phrases; the indices are those of `spans(at:)`.
    func withSpans<Result>(_ body: (UnsafeBufferPointer<Span>) -> Result) -> Result { spans.withUnsafeBufferPointer(body) }

    /// The phrases that start at a token.
    func spans(at position: Int) -> ArraySlice<Span> { spans[Int(starts[position])..<Int(starts[position + 1])] }
}
