import NIOCore

/// A parser of the PROXY protocol's header at the start of a connection, versions 1 and 2 (haproxy.org, proxy-protocol.txt). Pure.
enum ProxyHeader {
    enum Result: Equatable {
        /// More bytes are needed.
        case incomplete
        /// The connection begins with something else.
        case absent
        /// A header of `length` bytes. `source`: the client; nil when the proxy reported none (`LOCAL`, `UNKNOWN`, Unix sockets).
        case header(length: Int, source: NetworkAddress?)
        case malformed
    }

    private static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    private static let textPrefix = Array("PROXY ".utf8)
    /// Bytes of a version 1 header (§2.1).
    private static let longestLine = 107
    /// Bytes of the addresses and extensions of version 2 that are accepted.
    private static let longestBody = 4096

    static func parse(_ bytes: ByteBufferView) -> Result {
        if bytes.starts(with: textPrefix) { return line(bytes) }
        if bytes.starts(with: signature) { return binary(bytes) }
        let isBeginning = textPrefix.starts(with: bytes) || signature.starts(with: bytes)
        return isBeginning ? .incomplete : .absent
    }

    private static func line(_ bytes: ByteBufferView) -> Result {
        let line = bytes.prefix(longestLine)
        guard let end = line.firstIndex(of: 0x0A) else { return line.count < longestLine ? .incomplete : .malformed }
        let length = line.distance(from: line.startIndex, to: end) + 1
        let text = String(decoding: line[..<end], as: UTF8.self)
        guard text.hasSuffix("\r") else { return .malformed }
        let words = text.dropLast().split(separator: " ", omittingEmptySubsequences: false)
        switch words.dropFirst().first {
        case "UNKNOWN": return .header(length: length, source: nil)
        case "TCP4", "TCP6":
            // The family is checked by the text, not by the parsed address: a dual-stack listener writes IPv4 clients as
            // `TCP6 ::ffff:203.0.113.5`.
            guard words.count == 6, let source = NetworkAddress(words[2]), words[2].contains(":") == (words[1] == "TCP6") else {
                return .malformed
            }
            return .header(length: length, source: source)
        default: return .malformed
        }
    }

    private static func binary(_ bytes: ByteBufferView) -> Result {
        let head = Array(bytes.prefix(16))
        guard head.count == 16 else { return .incomplete }
        let (version, command, family) = (head[12] >> 4, head[12] & 0xF, head[13] >> 4)
        let bodyLength = Int(head[14]) << 8 | Int(head[15])
        guard version == 2, command <= 1, bodyLength <= longestBody else { return .malformed }
        guard bytes.count >= 16 + bodyLength else { return .incomplete }
        let body = bytes.dropFirst(16).prefix(bodyLength)
        // Source and destination, then two ports.
        let sizes: [UInt8: (address: Int, all: Int)] = [1: (4, 12), 2: (16, 36)]
        guard command == 1, let size = sizes[family] else { return .header(length: 16 + bodyLength, source: nil) }
        guard body.count >= size.all else { return .malformed }
        return .header(length: 16 + bodyLength, source: NetworkAddress(bytes: Array(body.prefix(size.address))))
    }
}
