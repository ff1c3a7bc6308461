/// Reads response header lines. Pure.
///
/// Interim responses come before the final one; they are not reported. What is beyond the bounds is dropped, but for its framing: nothing
/// else that we act on comes that late in a sane response.
struct HeadReader {
    static let mostHeaders = 64
    static let mostBytes = 16 << 10

    /// How the body after a head is delimited (RFC 9112 §6.3).
    enum Framing: Equatable {
        case length(Int)
        case chunked
        case untilClose
    }

    /// A final head, and what it says about what follows.
    struct Result: Equatable {
        var head: TransferHead
        var framing: Framing
        /// The connection may be used again afterwards.
        var mayReuse: Bool
    }

    /// Something that is not an HTTP/1 head, or frames its body in two ways.
    struct Malformed: Error {}

    private struct Reading {
        var head: TransferHead
        var bytes = 0
        var mayReuse: Bool
        var length: Int?
        var codings = ""
    }

    private var reading: Reading?

    /// Takes one line without its line end; returns the result when the line ends the head.
    mutating func line(_ line: UnsafeRawBufferPointer) throws(Malformed) -> Result? {
        guard var current = reading else {
            reading = try Self.status(line)
            return nil
        }
        if line.isEmpty {
            reading = nil
            return (100..<200).contains(current.head.status) ? nil : try Self.result(current)
        }
        current.bytes += line.count
        if let header = Self.header(line) {
            switch header.name {
            case "content-length":
                guard let length = Int(header.value), length >= 0, current.length == nil || current.length == length else {
                    throw Malformed()
                }
                current.length = length
            case "transfer-encoding": current.codings += "," + header.value.lowercased()
            case "connection":
                let options = header.value.lowercased().split { $0 == "," || $0 == " " }
                if options.contains("close") { current.mayReuse = false }
            default: break
            }
            if current.bytes <= Self.mostBytes, current.head.headers.count < Self.mostHeaders { current.head.headers.append(header) }
        }
        reading = current
        return nil
    }

    private static func result(_ reading: Reading) throws(Malformed) -> Result {
        let framing: Framing
        if reading.head.status == 204 || reading.head.status == 304 {
            framing = .length(0)
        } else if !reading.codings.isEmpty {
            // Both together are an attack or a broken server (§6.1).
            guard reading.length == nil else { throw Malformed() }
            let last = reading.codings.split { $0 == "," || $0 == " " }.last
            framing = last == "chunked" ? .chunked : .untilClose
        } else {
            framing = reading.length.map { .length($0) } ?? .untilClose
        }
        return Result(head: reading.head, framing: framing, mayReuse: reading.mayReuse && framing != .untilClose)
    }

    /// `HTTP/1.1 200 OK`.
    private static func status(_ line: UnsafeRawBufferPointer) throws(Malformed) -> Reading {
        guard line.starts(with: "HTTP/1.".utf8), let space = line.firstIndex(of: UInt8(ascii: " ")) else { throw Malformed() }
        guard let status = Int(String(decoding: line[(space + 1)...].prefix(3), as: UTF8.self)), (100..<1000).contains(status) else {
            throw Malformed()
        }
        return Reading(head: TransferHead(status: status), mayReuse: line.starts(with: "HTTP/1.1".utf8))
    }

    private static func header(_ line: UnsafeRawBufferPointer) -> TransferHeader? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return nil }
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var value = line[(colon + 1)...].drop(while: isBlank)
        while let last = value.last, isBlank(last) { value = value.dropLast() }
        return TransferHeader(
            String(decoding: line[..<colon], as: UTF8.self).lowercased(), String(decoding: value, as: UTF8.self))
    }
}
