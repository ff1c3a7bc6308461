import TokenRelay

/// The numbers of a response's events (`sequence_number`), computed from byte positions in the answer, so that every instance gives an event the
/// same number: the opening events from 0, then each piece of text by the byte at which it ends, then the closing events.
struct SequenceNumbers: Sendable, Equatable {
    /// Opening events. Every response has four; a card is a fifth.
    let openings: Int

    init(hasCard: Bool) { openings = hasCard ? 5 : 4 }

    /// The number of a piece of text that ends at a byte of the answer, which is at least 1.
    func text(endingAt byte: Int) -> Int { openings - 1 + byte }

    /// The number of the closing event `index`, from 0, of an answer with so many bytes.
    func closing(_ index: Int, length: Int) -> Int { openings + length + index }

    /// Where in the answer a client stands that has the events up to and with `number`; nil: none. It may be beyond the answer's end.
    func cursor(after number: Int?) -> Cursor { Cursor(after: max(0, (number ?? -1) - (openings - 1))) }
}
