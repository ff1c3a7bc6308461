import NIOCore

/// A text as a JSON string, with only the escapes that RFC 8259 §7 requires, as providers write it. `JSONWriter` escapes line separators, too.
func jsonString(_ text: String) -> String {
    var buffer = ByteBuffer()
    buffer.writeJSONString(text)
    return String(buffer: buffer)
}

extension ByteBuffer {
    mutating func writeJSONString(_ text: String) {
        writeInteger(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): writeString("\\\"")
            case UInt8(ascii: "\\"): writeString("\\\\")
            case UInt8(ascii: "\n"): writeString("\\n")
            case 0..<0x20:
                let digits = String(byte, radix: 16)
                writeString("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
            default: writeInteger(byte)
            }
        }
        writeInteger(UInt8(ascii: "\""))
    }
}
