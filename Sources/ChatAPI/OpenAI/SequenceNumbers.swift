import TokenRelay

/// The numbers of a response's events (`sequence_number`). They are computed from byte positions in the answer, so that every instance gives an event
/// the same number: the opening events from 0, then each piece of text by the byte at which it ends, then the closing events.
///
/// A crash may lose text that a client has, and the next attempt of a failed turn has another text. So the texts of each attempt have numbers of their own,
/// and when an answer did not end normally in its first attempt, its closing events have numbers beyond those of its text. A number then tells which event
/// a client has, also of a longer answer.
struct SequenceNumbers: Sendable, Equatable {
    /// Opening events. Every response has four; a card is a fifth.
    let openings: Int
    /// The number of a piece of text without a byte, were there one.
    private let beforeText: Int
    /// The first of the numbers beyond the attempt's text.
    private let beyondText: Int

    static let closingCount = 4
    /// More than an answer may have bytes (`answer_bytes`), with its opening.
    private static let perAttempt = 1 << 25
    /// Some clients read a number into 32 bits. So many attempts have room there; later ones share their numbers.
    private static let attempts = 63

    init(hasCard: Bool, attempt: Int = 1) {
        openings = hasCard ? 5 : 4
        beyondText = min(attempt, Self.attempts) * Self.perAttempt
        beforeText = beyondText - Self.perAttempt + openings - 1
    }

    /// The number of a piece of text that ends at a byte of the answer, which is at least 1.
    func text(endingAt byte: Int) -> Int { beforeText + byte }

    /// The numbers of the closing events. `length`: bytes of an answer that ended normally in its first attempt; nil for another.
    func closings(after length: Int?) -> Range<Int> {
        let first = length.map { openings + $0 } ?? beyondText
        return first..<first + Self.closingCount
    }

    /// Where in the answer a client stands that has the events up to and with `number`; nil: none. It may be beyond the answer's end, and is beyond that of
    /// any answer when the number is of an earlier attempt's text, which is lost.
    func cursor(after number: Int?) -> Cursor {
        guard let number, number >= openings else { return .start }
        return Cursor(after: number > beforeText ? number - beforeText : Self.perAttempt)
    }
}
