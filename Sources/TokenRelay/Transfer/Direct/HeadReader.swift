import OutboundHTTP

/// Parses the head of an HTTP/1 response, line by line and as strictly as RFC 9112 requires: an ambiguous head ends the transfer, because
/// two parsers could understand it differently. Interim responses (1xx) are skipped. Pure.
struct HeadReader {
    /// The most fields of a head, and of the trailers.
    static let mostFields = 128
    /// The most bytes of a head, and of the trailers.
    static let mostBytes = 32 << 10
    /// The most interim responses before the final one. Servers send one or two (100, 103).
    static let mostInterims = 16

    /// How the body after a head is delimited (RFC 9112 §6.3).
    enum Framing: Equatable {
        case length(Int)
        case chunked
        case untilClose
    }

    /// A final head, and the framing of the body.
    struct Result: Equatable {
        var head: TransferHead
        var framing: Framing
        /// Whether the connection may be reused after this response.
        var mayReuse: Bool
        /// How long the peer keeps an idle connection open; nil when it does not announce it.
        var keepAlive: Duration?
    }

    /// The response is not valid HTTP/1, or its head exceeds the limits.
    struct Malformed: Error {}

    /// The head that is being read.
    fileprivate struct Reading {
        var head: TransferHead
        var isHTTP11: Bool
        var mayReuse: Bool
        var counter = FieldCounter()
        var length: Int?
        var codings: String?
        var keepAlive: Duration?
    }

    /// Counts the fields of a head or of trailers and their bytes, and throws when there are too many.
    struct FieldCounter {
        private var fields = 0
        private var bytes = 0

        mutating func count(_ line: UnsafeRawBufferPointer) throws(Malformed) {
            fields += 1
            bytes += line.count
            guard fields <= HeadReader.mostFields, bytes <= HeadReader.mostBytes else { throw Malformed() }
        }
    }

    private var reading: Reading?
    private var interims = 0

    /// Takes one line without its line end; returns the result when the line ends the head.
    mutating func line(_ line: UnsafeRawBufferPointer) throws(Malformed) -> Result? {
        guard var current = reading else {
            reading = try Self.status(line)
            return nil
        }
        if line.isEmpty {
            reading = nil
            guard (100..<200).contains(current.head.status) else { return try Self.result(current) }
            interims += 1
            // No upgrade was requested (101).
            guard interims <= Self.mostInterims, current.head.status != 101 else { throw Malformed() }
            return nil
        }
        try current.counter.count(line)
        try current.take(try Self.field(line))
        reading = current
        return nil
    }

    private static func result(_ reading: Reading) throws(Malformed) -> Result {
        let framing: Framing
        if reading.head.status == 204 || reading.head.status == 304 {
            framing = .length(0)
        } else if let codings = reading.codings {
            // Transfer-Encoding together with Content-Length is an attack or a broken server. HTTP/1.0 has no transfer codings (§6.1). A
            // coding other than chunked was not offered to the peer (§7).
            guard reading.length == nil, reading.isHTTP11, codings == "chunked" else { throw Malformed() }
            framing = .chunked
        } else {
            framing = reading.length.map { .length($0) } ?? .untilClose
        }
        let mayReuse = reading.mayReuse && framing != .untilClose
        return Result(head: reading.head, framing: framing, mayReuse: mayReuse, keepAlive: reading.keepAlive)
    }

    /// `HTTP/1.1 200 OK` (§4). The reason, and the space before it, may be missing.
    private static func status(_ line: UnsafeRawBufferPointer) throws(Malformed) -> Reading {
        let isHTTP11 = line.starts(with: "HTTP/1.1 ".utf8)
        guard isHTTP11 || line.starts(with: "HTTP/1.0 ".utf8), line.count == 12 || line.count > 12 && line[12] == UInt8(ascii: " ") else {
            throw Malformed()
        }
        guard let status = Self.number(line[9..<12]), status >= 100 else { throw Malformed() }
        return Reading(head: TransferHead(status: status), isHTTP11: isHTTP11, mayReuse: isHTTP11)
    }

    /// Parses a field line (§5).
    static func field(_ line: UnsafeRawBufferPointer) throws(Malformed) -> TransferHeader {
        guard let header = HTTPHeader(line: line) else { throw Malformed() }
        return TransferHeader(header.name, header.value)
    }

    /// Digits only; nil for anything else, and for a number beyond `Int`.
    fileprivate static func number(_ text: some Collection<UInt8>) -> Int? {
        guard !text.isEmpty, text.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int(String(decoding: text, as: UTF8.self))
    }
}

extension HeadReader.Reading {
    fileprivate mutating func take(_ field: TransferHeader) throws(HeadReader.Malformed) {
        switch field.name {
        case "content-length":
            guard let number = HeadReader.number(field.value.utf8), length == nil || length == number else { throw HeadReader.Malformed() }
            length = number
        case "transfer-encoding": codings = (codings.map { $0 + "," } ?? "") + field.value.lowercased()
        case "connection": if Self.words(field.value).contains("close") { mayReuse = false }
        case "keep-alive":
            // `timeout=5, max=100`, by an expired draft that servers follow.
            let limit = Self.words(field.value).lazy.compactMap { $0.hasPrefix("timeout=") ? Int($0.dropFirst(8)) : nil }.first
            if let limit, (0...86_400).contains(limit) { keepAlive = .seconds(limit) }
        default: break
        }
        head.headers.append(field)
    }

    private static func words(_ value: String) -> [Substring] { value.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" } }
}
