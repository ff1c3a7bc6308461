/// Collects a JSON object that stands in an event stream without being a field, on one line or pretty-printed. Some providers send errors so.
struct BareObject {
    /// Lines beyond it are ignored.
    private static let longest = 8 << 10

    /// The lines of an object that is not complete, without their ends.
    private var lines: [UInt8] = []

    /// Takes the next line of the stream that is no field. Returns the object that it completes: one ends with its line, or with a line that begins
    /// with a brace, because pretty-printed objects inside it are indented.
    mutating func take(_ line: UnsafeRawBufferPointer) -> [UInt8]? {
        let (opening, closing) = (UInt8(ascii: "{"), UInt8(ascii: "}"))
        guard line.first == opening || !lines.isEmpty, lines.count + line.count <= Self.longest else { return nil }
        lines.append(contentsOf: line)
        guard line.last == closing, line.first == opening || line.first == closing else { return nil }
        defer { lines = [] }
        return lines
    }
}
