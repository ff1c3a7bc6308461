/// Collects a JSON object that stands in an event stream without a field's name, on one line or on several. Some providers send errors in this way.
struct BareObject {
    /// The size of an object in bytes; lines that exceed it are ignored.
    private static let longest = 8 << 10

    /// The lines of an object that is not complete, without line ends.
    private var lines: [UInt8] = []

    /// Takes the next line of the stream that is no field.
    ///
    /// An object on one line ends with this line. One on several lines ends with a line that begins with a brace: objects inside it are indented.
    /// - Returns: the object that the line completes; nil when it completes none.
    mutating func take(_ line: UnsafeRawBufferPointer) -> [UInt8]? {
        let (opening, closing) = (UInt8(ascii: "{"), UInt8(ascii: "}"))
        guard line.first == opening || !lines.isEmpty, lines.count + line.count <= Self.longest else { return nil }
        lines.append(contentsOf: line)
        guard line.last == closing, line.first == opening || line.first == closing else { return nil }
        defer { lines = [] }
        return lines
    }
}
