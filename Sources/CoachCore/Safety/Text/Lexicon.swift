/// A meaning that words can have: a word class of the grammar, a literal word of a pattern, a routing term. Numbered from 0.
typealias Symbol = Int32

/// The phrases that anything listens for, in one tree over words, so that a message is looked up once for crisis detection and
/// routing together.
struct Lexicon: Sendable {
    fileprivate var words: [UInt64: Int32] = [:]
    fileprivate var nearMisses: [UInt64: Int32] = [:]
    /// Continuations of a phrase: (node, word) → node. Node 0 is the start of all phrases.
    fileprivate var edges: [UInt64: Int32] = [:]
    fileprivate var symbolsOfNode: [[Symbol]] = [[]]

    /// Shortest word that is recognised with a spelling mistake: shorter ones are too close to other words.
    static let shortestCorrected = 6

    /// The words, their spelling mistakes undone, and every known phrase that starts at each of them.
    func read(_ sequence: TokenSequence) -> Reading {
        var reading = Reading(tokens: sequence.tokens)
        let words = sequence.tokens.map { word(of: $0, in: sequence) }
        for start in words.indices {
            appendSpans(words, from: start, to: &reading)
            reading.closePosition()
        }
        return reading
    }

    private func appendSpans(_ words: [Int32], from start: Int, to reading: inout Reading) {
        let sentence = reading.tokens[start].sentence
        var node: Int32 = 0
        var position = start
        while position < words.count, words[position] >= 0, reading.tokens[position].sentence == sentence {
            guard let next = edges[Lexicon.edge(node, words[position])] else { return }
            node = next
            position += 1
            for symbol in symbolsOfNode[Int(node)] {
                reading.append(Reading.Span(symbol: symbol, length: Int32(position - start)))
            }
        }
    }

    private func word(of token: Token, in sequence: TokenSequence) -> Int32 {
        if let known = words[token.hash] { return known }
        let bytes = sequence.bytes[token.bytes]
        if token.stretched, let known = words[Lexicon.hashWithoutRuns(bytes)] { return known }
        // What was typed may be one letter short of it.
        guard bytes.count >= Lexicon.shortestCorrected - 1, !nearMisses.isEmpty else { return -1 }
        if let near = nearMisses[token.hash] { return near }
        guard bytes.count >= Lexicon.shortestCorrected else { return -1 }
        for omitted in bytes.indices {
            if let near = nearMisses[Lexicon.hash(bytes, omitting: omitted)] { return near }
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

/// Values by symbol, dense: a lookup a word must cost no hashing.
struct SymbolTable<Value: Sendable>: Sendable {
    private var values: [Value?] = []

    /// nil for a symbol that has none.
    subscript(_ symbol: Symbol) -> Value? {
        get { Int(symbol) < values.count ? values[Int(symbol)] : nil }
        set {
            while values.count <= Int(symbol) { values.append(nil) }
            values[Int(symbol)] = newValue
        }
    }
}

/// Collects phrases, then becomes a `Lexicon`.
struct LexiconBuilder {
    private var lexicon = Lexicon()
    private var symbolCount: Symbol = 0

    /// A new meaning without any phrase yet.
    mutating func makeSymbol() -> Symbol {
        defer { symbolCount += 1 }
        return symbolCount
    }

    /// Gives a phrase a meaning. The phrase is folded like a message; a phrase without a word is ignored.
    mutating func add(_ phrase: String, as symbol: Symbol) {
        let sequence = LexiconBuilder.words(of: phrase)
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

    /// Lets a word be recognised with one spelling mistake: a letter missing, doubled, added, replaced or exchanged with its neighbour.
    /// Both sides leave out one letter and compare (the symmetric deletion of SymSpell).
    mutating func correct(_ word: String) {
        let sequence = LexiconBuilder.words(of: word)
        guard let token = sequence.tokens.first, sequence.tokens.count == 1 else { return }
        let bytes = sequence.bytes[token.bytes]
        guard bytes.count >= Lexicon.shortestCorrected else { return }
        let identifier = identifier(of: token.hash)
        lexicon.nearMisses[token.hash] = identifier
        for omitted in bytes.indices { lexicon.nearMisses[Lexicon.hash(bytes, omitting: omitted)] = identifier }
    }

    /// The finished lexicon.
    func build() -> Lexicon { lexicon }

    private mutating func identifier(of hash: UInt64) -> Int32 {
        if let known = lexicon.words[hash] { return known }
        let identifier = Int32(lexicon.words.count)
        lexicon.words[hash] = identifier
        return identifier
    }

    /// Folds a phrase of a configuration file; `:pill:` names the emoji.
    private static func words(of phrase: String) -> TokenSequence {
        guard phrase.hasPrefix(":"), phrase.hasSuffix(":"), phrase.count > 2 else { return TokenSequence(NormalisedMessage.fold(phrase)) }
        return TokenSequence([ScalarFolding.emojiMark] + NormalisedMessage.fold(String(phrase.dropFirst().dropLast())))
    }
}

/// A message with every known phrase found in it.
struct Reading {
    /// A known phrase that starts at a word.
    struct Span {
        var symbol: Symbol
        /// Words.
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

    /// The phrases that start at a word.
    func spans(at position: Int) -> ArraySlice<Span> { spans[Int(starts[position])..<Int(starts[position + 1])] }
}
