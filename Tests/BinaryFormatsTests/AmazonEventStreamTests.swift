import BinaryFormats
import Testing

/// Vectors computed with botocore 1.44.5.
@Suite("Amazon's event stream")
struct AmazonEventStreamTests {
    private static let empty = bytes("000000100000000005c248eb7d98c8ff")
    private static let event = bytes("0000002d00000016a8a7818d0d3a6d6573736167652d747970650700056576656e747b2261223a317deaf55e15")

    @Test("messages are written as botocore writes them")
    func encoding() {
        #expect(AmazonEvent(headers: [], payload: []).bytes == Self.empty)
        #expect(AmazonEvent(headers: [(":message-type", "event")], payload: Array(#"{"a":1}"#.utf8)).bytes == Self.event)
    }

    @Test("messages are read however they are cut")
    func cuts() throws {
        let stream = Self.event + Self.empty + Self.event
        let expected = try Self.read([stream])
        #expect(expected.map(\.payload.count) == [7, 0, 7] && expected[0][":message-type"] == "event")
        for cut in stream.indices { #expect(try Self.read([Array(stream[..<cut]), Array(stream[cut...])]) == expected) }
        #expect(try Self.read(stream.map { [$0] }) == expected)
    }

    @Test("each flipped bit is found")
    func flipped() {
        for index in Self.event.indices {
            for bit in 0..<8 {
                var damaged = Self.event
                damaged[index] ^= 1 << bit
                #expect(throws: AmazonEventStreamError.self) { try Self.read([damaged]) }
            }
        }
    }

    @Test("headers of all types are passed over, half a header is an error")
    func headers() throws {
        let types: [[UInt8]] = [
            [0], [1], [2, 9], [3, 0, 9], [4, 0, 0, 0, 9], [5] + Array(repeating: 0, count: 8), [6, 0, 2, 1, 2], [7, 0, 1, 65],
            [8] + Array(repeating: 0, count: 8), [9] + Array(repeating: 0, count: 16),
        ]
        let all = types.flatMap { [1, UInt8(ascii: "h")] + $0 }
        #expect(try Self.read([Self.message(headers: all)])[0].headers.map(\.value) == ["A"])
        for headers in [[1], [1, 104], [1, 104, 7, 0, 9, 65], [1, 104, 10]] as [[UInt8]] {
            #expect(throws: AmazonEventStreamError.malformed) { try Self.read([Self.message(headers: headers)]) }
        }
    }

    @Test("a message beyond the limit is an error at its prelude, not memory")
    func tooLong() {
        let long = AmazonEvent(headers: [], payload: Array(repeating: 0, count: 5000)).bytes
        #expect(throws: AmazonEventStreamError.tooLong) { try Self.read([Array(long.prefix(12))]) }
    }

    private static func message(headers: [UInt8]) -> [UInt8] {
        // The fields of an event whose headers are bytes of our own.
        func number(_ value: UInt32) -> [UInt8] { (0..<4).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
        func checksum(_ bytes: [UInt8]) -> [UInt8] {
            var crc = CRC32()
            crc.update(bytes)
            return number(crc.value)
        }
        var bytes = number(UInt32(16 + headers.count)) + number(UInt32(headers.count))
        bytes += checksum(bytes)
        bytes += headers
        return bytes + checksum(bytes)
    }

    private static func read(_ pieces: [[UInt8]]) throws -> [AmazonEvent] {
        var parser = AmazonEventStreamParser(limit: 4096)
        var events: [AmazonEvent] = []
        for piece in pieces { try piece.withUnsafeBytes { try parser.feed($0) { events.append($0) } } }
        #expect(parser.isBetweenMessages)
        return events
    }

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        stride(from: 0, to: hexadecimal.count, by: 2).compactMap { UInt8(hexadecimal.dropFirst($0).prefix(2), radix: 16) }
    }
}
