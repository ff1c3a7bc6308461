import Glibc
import JSON

/// The last ordinary frame of an answer, to read the next ones by.
///
/// The frames of one answer are the same bytes but for the text, and for padding (OpenAI's `obfuscation`). A frame that begins and ends as
/// the last one did, with clean strings in these two places, therefore parses as it did but for the text; a reader of JSON goes from left
/// to right, and behind a string its state does not depend on the string's content. So only the text is read: 60 ns instead of 700
/// (measured by Tests/Benchmarks/Workloads/Dialects). Whatever does not fit is left to the parser of the dialect.
struct FrameTemplate {
    /// Where a frame's two variable strings stand, without their quotes.
    struct Places: Equatable {
        var text: Range<Int>
        /// Behind the text.
        var padding: Range<Int>?
    }

    /// What a frame of the largest model name, log probabilities off, needs; longer ones are not worth their memory.
    private static let longest = 1024

    /// What stands before the text, between text and padding, and behind the padding.
    private var bytes: [UInt8] = []
    private var beforeText = 0
    private var betweenEnd = 0
    private var hasPadding = false

    /// From now on frames are read by this one, which has nothing but one text.
    mutating func learn(_ frame: UnsafeBufferPointer<UInt8>, _ places: Places) {
        forget()
        guard frame.count <= Self.longest else { return }
        let behindText = places.text.upperBound + 1
        let padding = places.padding ?? frame.count..<frame.count
        bytes.append(contentsOf: frame[..<places.text.lowerBound])
        beforeText = bytes.count
        bytes.append(contentsOf: frame[behindText..<padding.lowerBound])
        betweenEnd = bytes.count
        hasPadding = places.padding != nil
        if hasPadding { bytes.append(contentsOf: frame[(padding.upperBound + 1)...]) }
    }

    private mutating func forget() {
        bytes.removeAll(keepingCapacity: true)
        (beforeText, betweenEnd, hasPadding) = (0, 0, false)
    }

    /// Appends the frame's text; false, and `text` as it was, when it must be parsed.
    func read(_ frame: UnsafeBufferPointer<UInt8>, into text: inout [UInt8]) -> Bool {
        guard !bytes.isEmpty else { return false }
        let before = text.count
        let isRead = bytes.withUnsafeBufferPointer { known in
            guard frame.starts(with: known[..<beforeText], at: 0),
                let behindText = JSONString.appendClean(of: frame, from: beforeText, to: &text),
                frame.starts(with: known[beforeText..<betweenEnd], at: behindText)
            else { return false }
            let between = behindText + betweenEnd - beforeText
            guard hasPadding else { return between == frame.count }
            guard let behindPadding = JSONString.skipPlain(in: frame, from: between) else { return false }
            return frame.starts(with: known[betweenEnd...], at: behindPadding)
                && behindPadding + known.count - betweenEnd == frame.count
        }
        if !isRead { text.removeSubrange(before...) }
        return isRead
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether these bytes stand at `index`, which is at most `count`.
    // SAFETY: `memcmp` reads `piece.count` bytes of both, which both have: the comparison before shows it.
    fileprivate func starts(with piece: Slice<Self>, at index: Int) -> Bool {
        guard piece.count <= count - index else { return false }
        guard let mine = baseAddress, let its = UnsafeBufferPointer(rebasing: piece).baseAddress else { return piece.isEmpty }
        return memcmp(mine + index, its, piece.count) == 0
    }
}
