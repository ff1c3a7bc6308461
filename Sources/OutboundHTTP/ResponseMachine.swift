/// Parses the header lines of a response as libcurl's callbacks deliver them, finds the final head, and enforces the size limits. Pure.
///
/// libcurl passes interim responses (1xx), a proxy's 407 that it answers itself, and trailers to the same callback as the final head.
struct ResponseMachine {
    enum Step: Equatable {
        /// Nothing to report.
        case goOn
        /// The final head is complete.
        case head(OutboundResponseHead)
        /// A limit is exceeded: end the transfer.
        case tooLarge
    }

    private enum State {
        /// The head that is being read; nil before the first status line.
        case readingHead(OutboundResponseHead?)
        /// A complete head with status 407: either the final one, or libcurl answers the proxy's challenge and another head follows.
        case challenged(OutboundResponseHead)
        case final
    }

    /// For all heads of a response together. Those of model providers are below 4 KiB; libcurl's own limit is 300 KB.
    static let maximumHeadBytes = 64 * 1024

    private let maximumBodyBytes: Int
    private var state = State.readingHead(nil)
    private var headBytes = 0
    private var bodyBytes = 0

    init(maximumBodyBytes: Int) {
        self.maximumBodyBytes = maximumBodyBytes
    }

    /// The next header line, with its line end.
    mutating func line(_ bytes: UnsafeRawBufferPointer) -> Step {
        // Trailers are not reported.
        if case .final = state { return .goOn }
        headBytes += bytes.count
        guard headBytes <= Self.maximumHeadBytes else { return .tooLarge }
        let line = Self.withoutLineEnd(bytes)
        if let status = Self.status(line) {
            state = .readingHead(OutboundResponseHead(status: status))
            return .goOn
        }
        guard case .readingHead(var head?) = state else { return .goOn }
        guard line.isEmpty else {
            Self.add(line, to: &head)
            state = .readingHead(head)
            return .goOn
        }
        switch head.status {
        case ..<200: state = .readingHead(nil)
        case 407: state = .challenged(head)
        default:
            state = .final
            return .head(head)
        }
        return .goOn
    }

    /// The next piece of the body has arrived. Returns the head, if only this shows that it was the final one, and whether the body is too
    /// large.
    mutating func body(byteCount: Int) -> (head: OutboundResponseHead?, isTooLarge: Bool) {
        bodyBytes += byteCount
        return (finish(), bodyBytes > maximumBodyBytes)
    }

    /// The response ended. Returns the head, if only this shows that it was the final one.
    mutating func finish() -> OutboundResponseHead? {
        guard case .challenged(let head) = state else { return nil }
        state = .final
        return head
    }

    /// Whether anything has arrived.
    var hasBegun: Bool { headBytes > 0 }

    /// Whether the final head is known.
    var hasHead: Bool { if case .final = state { true } else { false } }

    private static func withoutLineEnd(_ bytes: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
        var line = bytes[...]
        if line.last == UInt8(ascii: "\n") { line = line.dropLast() }
        if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
        return line
    }

    /// `HTTP/1.1 200 OK`, `HTTP/2 200`; nil for a field.
    private static func status(_ line: Slice<UnsafeRawBufferPointer>) -> Int? {
        guard line.starts(with: "HTTP/".utf8) else { return nil }
        let words = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard words.count >= 2, words[1].count == 3 else { return nil }
        return Int(String(decoding: words[1], as: UTF8.self))
    }

    private static func add(_ line: Slice<UnsafeRawBufferPointer>, to head: inout OutboundResponseHead) {
        // Ignores continuation lines, which begin with white space (RFC 9112 §5.2), and lines without a colon.
        guard let first = line.first, first != 0x20, first != 0x09, let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        let blank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        var value = line[line.index(after: colon)...].drop(while: blank)
        while let last = value.last, blank(last) { value = value.dropLast() }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        head.headers.append(HTTPHeader(name, String(decoding: value, as: UTF8.self)))
    }
}
