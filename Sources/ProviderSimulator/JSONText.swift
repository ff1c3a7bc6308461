import JSON
import NIOCore

/// A text as a JSON string. Line separators are not escaped: providers write them as they are.
func jsonString(_ text: String) -> String { String(decoding: encoded(text), as: UTF8.self) }

extension ByteBuffer {
    mutating func writeJSONString(_ text: String) { writeBytes(encoded(text)) }
}

private func encoded(_ text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    JSONWriter.appendString(text.utf8, to: &bytes, escapesLineSeparators: false)
    return bytes
}
