/// One message of Amazon's event stream (`application/vnd.amazon.eventstream`; AWS, "Event stream encoding"), big-endian: total length,
/// length of the headers, checksum of both, headers, payload, checksum of all before it.
public struct AmazonEvent: Sendable, Equatable {
    /// Length and checksum fields without headers and payload.
    static let overhead = 16
    /// The part before the headers.
    static let preludeCount = 12

    /// Headers whose value is a string; others are passed over.
    public var headers: [(name: String, value: String)]
    public var payload: [UInt8]

    public init(headers: [(name: String, value: String)], payload: [UInt8]) {
        self.headers = headers
        self.payload = payload
    }

    public static func == (a: AmazonEvent, b: AmazonEvent) -> Bool {
        a.payload == b.payload && a.headers.elementsEqual(b.headers) { $0 == $1 }
    }

    /// The first header of this name.
    public subscript(name: String) -> String? { headers.first { $0.name == name }?.value }

    /// The message on the wire. Names are shorter than 256 bytes, values than 65,536.
    public var bytes: [UInt8] {
        var headerBytes: [UInt8] = []
        for header in headers {
            headerBytes += [UInt8(header.name.utf8.count)]
            headerBytes += header.name.utf8
            headerBytes += [AmazonHeaderType.string.rawValue]
            headerBytes += UInt16(header.value.utf8.count).bigEndianBytes
            headerBytes += header.value.utf8
        }
        var bytes = UInt32(Self.overhead + headerBytes.count + payload.count).bigEndianBytes
        bytes += UInt32(headerBytes.count).bigEndianBytes
        bytes += CRC32.of(bytes[...]).bigEndianBytes
        bytes += headerBytes + payload
        return bytes + CRC32.of(bytes[...]).bigEndianBytes
    }
}

/// Types of header values.
enum AmazonHeaderType: UInt8 {
    case `true`, `false`, int8, int16, int32, int64, bytes, string, timestamp, uuid
}

/// Why a stream cannot be read any further.
public enum AmazonEventStreamError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A message is longer than the limit.
    case tooLong
    /// A checksum does not match.
    case checksum
    /// Lengths that contradict each other, or a header that is none.
    case malformed

    public var description: String {
        switch self {
        case .tooLong: "frame too long"
        case .checksum: "wrong checksum"
        case .malformed: "malformed frame"
        }
    }
}

extension FixedWidthInteger {
    var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
