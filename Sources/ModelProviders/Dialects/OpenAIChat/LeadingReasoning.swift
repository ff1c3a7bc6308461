/// Separates a chain of thought at the beginning of an answer, `<think>…</think>`, from the answer. Some servers send it within the text: Groq unless
/// `reasoning_format` forbids it, vLLM without a parser of reasoning, older versions of Ollama. Pure.
///
/// White space, and what may become the opening tag, is held back until more of the text has come. Both tags are ASCII.
struct LeadingReasoning {
    private enum State: Equatable {
        /// The text is white space so far, and perhaps the beginning of the opening tag behind it.
        case undecided(held: [UInt8])
        /// Within the block, with so many bytes of the closing tag at the end.
        case inBlock(matched: Int)
        /// Behind the block, before the first character of the answer.
        case behindBlock
        case answering
    }

    private static let opening = Array("<think>".utf8)
    private static let closing = Array("</think>".utf8)
    /// In bytes. More white space is text, so that it counts against the limit of an answer.
    private static let longestHeld = 1024

    private var state = State.undecided(held: [])

    /// Whether everything from here on is the answer.
    var hasAnswerBegun: Bool { state == .answering }

    /// The text that was held back and not removed; nil when there is none.
    var held: [UInt8]? {
        if case .undecided(let held) = state, !held.isEmpty { held } else { nil }
    }

    /// Takes the text from this index on, the next of the answer, and leaves what belongs to the answer.
    /// - Returns: how many bytes of reasoning came.
    mutating func remove(from text: inout [UInt8], at start: Int) -> Int {
        let piece = Array(text[start...])
        text.removeSubrange(start...)
        var reasoning = 0
        for (index, byte) in piece.enumerated() {
            switch state {
            case .undecided(var held):
                held.append(byte)
                let tag = held.drop(while: Self.isWhiteSpace)
                if tag.elementsEqual(Self.opening) {
                    reasoning += held.count
                    state = .inBlock(matched: 0)
                } else if Self.opening.starts(with: tag), held.count <= Self.longestHeld {
                    state = .undecided(held: held)
                } else {
                    text += held
                    state = .answering
                }
            case .inBlock(let matched):
                reasoning += 1
                // The tag's first byte occurs in it only once.
                let next = byte == Self.closing[matched] ? matched + 1 : byte == Self.closing[0] ? 1 : 0
                state = next == Self.closing.count ? .behindBlock : .inBlock(matched: next)
            case .behindBlock:
                guard !Self.isWhiteSpace(byte) else {
                    reasoning += 1
                    continue
                }
                text.append(byte)
                state = .answering
            case .answering:
                text += piece[index...]
                return reasoning
            }
        }
        return reasoning
    }

    private static func isWhiteSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || (0x09...0x0D).contains(byte) }
}
