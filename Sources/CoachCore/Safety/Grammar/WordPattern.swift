/// A parsed pattern over words. Syntax of the grammar file, elements separated by spaces:
///
/// | syntax | matches |
/// |---|---|
/// | `word` | this word |
/// | `kill/s/ed` | this word, with or without one of these endings |
/// | `{CLASS}` | any phrase of a word class |
/// | `(word\|two words\|{CLASS})` | any of these |
/// | `element?` | the element or nothing |
/// | `<0-3>` | up to three other words of the same sentence before the next element |
/// | `<~0-3>` | the same, also across sentence ends |
/// | `^` first, `$` last | start, end of a sentence |
///
/// Filler words ("just", "really") are allowed between any two elements.
struct WordPattern: Sendable, Equatable {
    /// One alternative of an element.
    enum Alternative: Sendable, Hashable {
        case phrase(String)
        case wordClass(String)
    }

    /// One element of the pattern.
    struct Element: Sendable, Equatable {
        var alternatives: [Alternative]
        var optional: Bool
        /// Number of other words allowed before it.
        var gap: ClosedRange<Int>
        /// True when the gap may cross sentence ends.
        var crossesSentences: Bool
    }

    var elements: [Element] = []
    var startsSentence = false
    var endsSentence = false

    /// Maximum sum of the gaps of one pattern, in words. Bounds the matching work per message.
    static let maximumGapSum = 20
    /// Maximum of one gap, in words.
    static let maximumGap = 12

    /// A pattern with invalid syntax.
    struct SyntaxError: Error, Equatable {
        var reason: String
    }

    init(_ text: String) throws(SyntaxError) {
        var rest = Substring(text)
        var gap = (range: 0...0, crosses: false)
        while true {
            rest = rest.drop { $0 == " " }
            guard let first = rest.first else { break }
            guard !endsSentence else { throw SyntaxError(reason: "something follows $") }
            switch first {
            case "^":
                guard elements.isEmpty, !startsSentence else { throw SyntaxError(reason: "^ is not first") }
                startsSentence = true
                rest.removeFirst()
            case "$":
                endsSentence = true
                rest.removeFirst()
            case "<":
                guard !elements.isEmpty else { throw SyntaxError(reason: "a gap is first") }
                gap = try WordPattern.gap(WordPattern.take(&rest, until: ">"))
            default:
                elements.append(try WordPattern.element(&rest, first: first, gap: gap.range, crosses: gap.crosses))
                gap = (0...0, false)
            }
        }
        guard gap == (0...0, false) else { throw SyntaxError(reason: "a gap is last") }
        guard let first = elements.first, !first.optional else { throw SyntaxError(reason: "the first element is missing or optional") }
        guard elements.reduce(0, { $0 + $1.gap.upperBound }) <= WordPattern.maximumGapSum else {
            throw SyntaxError(reason: "gaps add up to more than \(WordPattern.maximumGapSum)")
        }
    }

    private static func element(
        _ rest: inout Substring, first: Character, gap: ClosedRange<Int>, crosses: Bool
    ) throws(SyntaxError) -> Element {
        var alternatives: [Alternative]
        switch first {
        case "{": alternatives = [.wordClass(try take(&rest, until: "}"))]
        case "(": alternatives = try take(&rest, until: ")").split(separator: "|").flatMap(WordPattern.alternatives)
        default:
            let word = rest.prefix { $0 != " " && $0 != "?" }
            guard word.allSatisfy({ $0.isLetter || $0.isNumber || $0 == ":" || $0 == "/" }), word.first != "/" else {
                throw SyntaxError(reason: "not a word: \(word)")
            }
            rest = rest.dropFirst(word.count)
            alternatives = PhraseExpansion.expand(String(word)).map(Alternative.phrase)
        }
        guard !alternatives.isEmpty else { throw SyntaxError(reason: "an element has no alternative") }
        var optional = false
        if rest.first == "?" {
            optional = true
            rest.removeFirst()
        }
        return Element(alternatives: alternatives, optional: optional, gap: gap, crossesSentences: crosses)
    }

    private static func alternatives(_ text: Substring) -> [Alternative] {
        if text.hasPrefix("{"), text.hasSuffix("}") { return [.wordClass(String(text.dropFirst().dropLast()))] }
        return PhraseExpansion.expand(String(text)).map(Alternative.phrase)
    }

    /// Removes an opening character, text, and the closing character; returns the text.
    private static func take(_ rest: inout Substring, until closing: Character) throws(SyntaxError) -> String {
        guard let end = rest.firstIndex(of: closing) else { throw SyntaxError(reason: "\(closing) is missing") }
        let inside = rest[rest.index(after: rest.startIndex)..<end]
        rest = rest[rest.index(after: end)...]
        guard !inside.isEmpty else { throw SyntaxError(reason: "nothing before \(closing)") }
        return String(inside)
    }

    private static func gap(_ text: String) throws(SyntaxError) -> (range: ClosedRange<Int>, crosses: Bool) {
        let crosses = text.hasPrefix("~")
        let bounds = text.drop { $0 == "~" }.split(separator: "-").compactMap { Int($0) }
        guard bounds.count == 2, bounds[0] >= 0, bounds[0] <= bounds[1], bounds[1] <= maximumGap else {
            throw SyntaxError(reason: "not a gap of at most \(maximumGap) words: <\(text)>")
        }
        return (bounds[0]...bounds[1], crosses)
    }
}
