/// Reads response header lines as libcurl hands them over. Pure.
///
/// Interim responses come before the final one, trailers after its body; neither is reported. What is beyond the bounds is dropped:
/// nothing that we act on comes that late in a sane response.
struct HeadReader {
    static let mostHeaders = 64
    static let mostBytes = 16 << 10

    private enum State {
        case waiting
        case reading(TransferHead, bytes: Int)
        case done
    }

    private var state = State.waiting

    /// Takes one line with its line end; returns the head when the line ends it.
    mutating func line(_ bytes: UnsafeRawBufferPointer) -> TransferHead? {
        let line = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast(bytes.dropLast().last == UInt8(ascii: "\r") ? 2 : 1) : bytes[...]
        switch state {
        case .done:
            return nil
        case .waiting:
            if let status = Self.status(line) { state = .reading(TransferHead(status: status), bytes: 0) }
            return nil
        case .reading(var head, let size):
            if line.isEmpty {
                let isInterim = (100..<200).contains(head.status)
                state = isInterim ? .waiting : .done
                return isInterim ? nil : head
            }
            let total = size + line.count
            if total <= Self.mostBytes, head.headers.count < Self.mostHeaders, let header = Self.header(line) {
                head.headers.append(header)
            }
            state = .reading(head, bytes: total)
            return nil
        }
    }

    /// `HTTP/1.1 200 OK`, `HTTP/2 200`.
    private static func status(_ line: Slice<UnsafeRawBufferPointer>) -> Int? {
        guard line.starts(with: "HTTP/".utf8), let space = line.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let digits = line[line.index(after: space)...].prefix(3)
        guard digits.count == 3 else { return nil }
        return Int(String(decoding: digits, as: UTF8.self))
    }

    private static func header(_ line: Slice<UnsafeRawBufferPointer>) -> TransferHeader? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { return nil }
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var value = line[line.index(after: colon)...].drop(while: isBlank)
        while let last = value.last, isBlank(last) { value = value.dropLast() }
        return TransferHeader(
            String(decoding: line[..<colon], as: UTF8.self).lowercased(), String(decoding: value, as: UTF8.self))
    }
}
