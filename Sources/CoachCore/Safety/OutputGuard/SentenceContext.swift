/// What precedes a word in its sentence, as far as it decides whether the sentence states what it says.
struct SentenceContext: Sendable {
    private(set) var isFirstWord = true
    /// The sentence reports what others say or think, or asks.
    private var isReported = false
    /// A word such as "if" is before the word, without a comma between them.
    private var isCondition = false
    /// A negated verb such as "promise", or a word such as "worried", is before the word in its clause.
    private var isDisclaimed = false
    /// How many words from the next one on are near a negation of verbs; 0 for none. "Instead I suggest" has none.
    private var negatedVerbs = 0
    /// How many words from the next one on are near a negation; 0 for none.
    private var negatedWords = 0

    /// The last word that a negation is near: "não posso te prometer que …".
    private static let negationDistance = 3

    /// Whether the next word belongs to a statement of the answer.
    var isStatement: Bool { !isReported && !isCondition && !isDisclaimed && negatedWords < SentenceContext.negationDistance }

    mutating func take(word role: OutputGuard.Role) {
        if role.contains(.reports) || (isFirstWord && role.contains(.asks)) { isReported = true }
        if role.contains(.conditions) { isCondition = true }
        if role.contains(.beginsClause) { isDisclaimed = false }
        if role.contains(.worries) || (negatedVerbs > 0 && role.contains(.mayBeNegated)) { isDisclaimed = true }
        negatedVerbs =
            role.contains(.negates) && !role.contains(.negatesNoVerb) ? SentenceContext.negationDistance : max(negatedVerbs - 1, 0)
        negatedWords = role.contains(.negates) ? SentenceContext.negationDistance : max(negatedWords - 1, 0)
        isFirstWord = false
    }

    /// Takes a character between words. `kind` is its class; `byte` is 0 for characters outside ASCII.
    mutating func take(separator kind: UInt8, _ byte: UInt8, endsClause: Bool) {
        if endsClause {
            isDisclaimed = false
            negatedVerbs = 0
        }
        // "No, you should": a comma ends what is negated, an apostrophe and white space do not.
        if kind != WordTable.Class.space, byte != UInt8(ascii: "'"), byte != 0 { negatedWords = 0 }
        if byte == UInt8(ascii: ",") || byte == UInt8(ascii: ";") || byte == UInt8(ascii: ":") { isCondition = false }
        if kind == WordTable.Class.quote { isReported = true }
    }
}
