/// Collects the head of an HTTP/1.1 message incrementally.
struct MessageHead {
    private var bytes: [UInt8] = []
    private static let end: [UInt8] = Array("\r\n\r\n".utf8)

    /// Consumes the bytes that belong to the head. Returns their number and whether the head is complete.
    mutating func take(_ input: UnsafeRawBufferPointer) -> (count: Int, isComplete: Bool) {
        var index = 0
        while index < input.count {
            bytes.append(input[index])
            index += 1
            if input[index - 1] == Self.end[3], bytes.suffix(4).elementsEqual(Self.end) { return (index, true) }
        }
        return (index, false)
    }

    mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
    }

    /// The first line.
    var line: Substring { text.prefix { $0 != "\r\n" } }

    /// The value of a field; names are case-insensitive.
    func field(_ name: String) -> Substring? {
        for line in text.split(separator: "\r\n").dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            if line[..<colon].lowercased() == name {
                return line[line.index(after: colon)...].drop { $0 == " " }
            }
        }
        return nil
    }

    private var text: String { String(decoding: bytes, as: UTF8.self) }
}
