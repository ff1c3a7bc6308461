/// An incremental parser of Amazon's event stream. The input may be split anywhere; both checksums of each message are verified.
public struct AmazonEventStreamParser: Sendable {
    private let limit: Int
    private var buffer: [UInt8] = []
    private var failure: AmazonEventStreamError?

    /// - Parameter limit: the most bytes of one message; more is an error.
    public init(limit: Int) { self.limit = limit }

    /// Whether the input so far ended with a whole message.
    public var isBetweenMessages: Bool { buffer.isEmpty && failure == nil }

    /// Parses the next bytes and calls `onMessage` for each message that they complete, in order. After an error the parser stays failed.
    public mutating func feed(
        _ bytes: UnsafeRawBufferPointer, _ onMessage: (AmazonEvent) -> Void
    ) throws(AmazonEventStreamError) {
        if let failure { throw failure }
        buffer.append(contentsOf: bytes)
        var start = 0
        do throws(AmazonEventStreamError) {
            while let count = try messageCount(at: start), start + count <= buffer.count {
                onMessage(try message(buffer[start..<start + count]))
                start += count
            }
        } catch {
            failure = error
            throw error
        }
        buffer.removeSubrange(..<start)
    }

    /// The length of the message that starts here; nil when its prelude has not arrived.
    private func messageCount(at start: Int) throws(AmazonEventStreamError) -> Int? {
        guard buffer.count - start >= AmazonEvent.preludeCount else { return nil }
        let lengths = buffer[start..<start + 8]
        guard CRC32.of(lengths) == number(at: start + 8) else { throw .checksum }
        let total = Int(number(at: start))
        guard total >= AmazonEvent.overhead + Int(number(at: start + 4)) else { throw .malformed }
        guard total <= limit else { throw .tooLong }
        return total
    }

    private func message(_ bytes: ArraySlice<UInt8>) throws(AmazonEventStreamError) -> AmazonEvent {
        let end = bytes.endIndex - 4
        guard CRC32.of(bytes[..<end]) == number(at: end) else { throw .checksum }
        let headersStart = bytes.startIndex + AmazonEvent.preludeCount
        let payloadStart = headersStart + Int(number(at: bytes.startIndex + 4))
        return AmazonEvent(headers: try headers(bytes[headersStart..<payloadStart]), payload: Array(bytes[payloadStart..<end]))
    }

    private func headers(_ bytes: ArraySlice<UInt8>) throws(AmazonEventStreamError) -> [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        var rest = bytes
        func take(_ count: Int) throws(AmazonEventStreamError) -> ArraySlice<UInt8> {
            guard rest.count >= count else { throw .malformed }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        func takeNumber(_ count: Int) throws(AmazonEventStreamError) -> Int { try take(count).reduce(0) { $0 << 8 | Int($1) } }
        while !rest.isEmpty {
            let name = String(decoding: try take(try takeNumber(1)), as: UTF8.self)
            switch AmazonHeaderType(rawValue: UInt8(try takeNumber(1))) {
            case .string: headers.append((name, String(decoding: try take(try takeNumber(2)), as: UTF8.self)))
            case .bytes: _ = try take(try takeNumber(2))
            case .true, .false: break
            case .int8: _ = try take(1)
            case .int16: _ = try take(2)
            case .int32: _ = try take(4)
            case .int64, .timestamp: _ = try take(8)
            case .uuid: _ = try take(16)
            case nil: throw .malformed
            }
        }
        return headers
    }

    private func number(at index: Int) -> UInt32 { buffer[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) } }
}
