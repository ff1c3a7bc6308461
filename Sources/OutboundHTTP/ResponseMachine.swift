/// Parses the header lines of a response as libcurl's callbacks deliver them, finds the final head, and enforces the size limits. Pure.
///
/// libcurl passes interim responses (1xx), a proxy's 407 that it answers itself, and trailers to the same callback as the final head.
struct ResponseMachine {
    /// The result of one header line.
    enum Step: Equatable {
        /// Nothing to report.
        case goOn
        /// The final head is complete.
        case head(OutboundResponseHead)
        /// A limit is exceeded: end the transfer.
        case tooLarge
        /// The head is ambiguous, so another parser could read another response: end the transfer.
        case malformed
    }

    /// The head that is being read, and what its fields say of the body.
    fileprivate struct Reading {
        var head: OutboundResponseHead
        /// HTTP/1.0 has no transfer codings (RFC 9112 §6.1).
        let mayHaveCoding: Bool
        var length: Int?
        var hasCoding = false
    }

    private enum State {
        /// nil before the first status line.
        case readingHead(Reading?)
        /// A complete head with status 407: either the final one, or libcurl answers the proxy's challenge and another head follows.
        case challenged(OutboundResponseHead)
        case final
    }

    /// For all heads of a response together. Those of model providers are below 4 KiB; libcurl's own limit is 300 KB.
    static let maximumHeadBytes = 64 * 1024
    /// The most fields of one head, as of a response that is read without libcurl.
    static let maximumFields = 128

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
            let isHTTP10 = line.starts(with: "HTTP/1.0 ".utf8)
            state = .readingHead(Reading(head: OutboundResponseHead(status: status), mayHaveCoding: !isHTTP10))
            return .goOn
        }
        guard case .readingHead(var reading?) = state else { return .goOn }
        guard line.isEmpty else {
            guard reading.take(line) else { return .malformed }
            state = .readingHead(reading)
            return .goOn
        }
        let head = reading.head
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
}

extension ResponseMachine.Reading {
    /// Takes a line after the status line; false when it, or all of them together, can be understood in two ways (RFC 9112 §5, §6.3).
    /// libcurl delivers folded lines, and fields with a space before the colon, as they came.
    fileprivate mutating func take(_ line: Slice<UnsafeRawBufferPointer>) -> Bool {
        guard let header = HTTPHeader(line: UnsafeRawBufferPointer(rebasing: line)), head.headers.count < ResponseMachine.maximumFields
        else { return false }
        switch header.name {
        case "content-length":
            guard header.value.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = Int(header.value),
                length == nil || length == number
            else { return false }
            length = number
        case "transfer-encoding":
            // Once, and no coding that was not offered to the peer (§7).
            guard mayHaveCoding, !hasCoding, header.value.lowercased() == "chunked" else { return false }
            hasCoding = true
        default: break
        }
        head.headers.append(header)
        return !(hasCoding && length != nil)
    }
}
