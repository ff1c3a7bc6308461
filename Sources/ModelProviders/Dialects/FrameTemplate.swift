import Glibc
import JSON

/// The last frame of an answer that had only text. Reads frames that differ from it in nothing else, without parsing them.
///
/// Most frames of one answer differ only in two strings: the text, and padding (OpenAI's `obfuscation`). A parser of JSON reads from left to right, and its
/// state after a string does not depend on the string's content. So a frame with the same bytes around these two strings has the same content but for the
/// text, and only the text is read: 60 ns instead of 700 (measured by Tests/Benchmarks/Workloads/Dialects). Other frames are left to the dialect's parser.
struct FrameTemplate {
    /// The places of the two strings in a frame, without their quotes.
    struct Places: Equatable {
        var text: Range<Int>
        /// After the text; nil when the frame has no padding.
        var padding: Range<Int>?
    }

    /// In bytes. A frame with the longest name of a model fits, without log probabilities; longer frames are not worth their memory.
    private static let longest = 1024

    /// The frame without the two strings and their closing quotes: the bytes before the text, between both, and after the padding.
    private var bytes: [UInt8] = []
    /// The number of bytes before the text.
    private var beforeText = 0
    /// Where the bytes between text and padding end in `bytes`.
    private var betweenEnd = 0
    private var hasPadding = false

    /// Makes `frame`, which has one text and nothing else, the template of the next ones.
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

    /// Appends the frame's text.
    /// - Returns: false when the frame must be parsed; `text` is then as before.
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
    // SAFETY: `memcmp` reads `piece.count` bytes of both; the guard shows that both have them.
    fileprivate func starts(with piece: Slice<Self>, at index: Int) -> Bool {
        guard piece.count <= count - index else { return false }
        guard let mine = baseAddress, let its = UnsafeBufferPointer(rebasing: piece).baseAddress else { return piece.isEmpty }
        return memcmp(mine + index, its, piece.count) == 0
    }
}
