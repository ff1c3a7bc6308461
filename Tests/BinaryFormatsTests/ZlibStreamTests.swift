import Foundation
import Testing

@testable import BinaryFormats

/// The streams are made by zlib 1.3.
@Suite("zlib streams")
struct ZlibStreamTests {
    private static let text = (0..<60).map { "row \($0): \(String(repeating: "ab", count: $0 % 7))\n" }.joined()
    private static let bytes = Array(text.utf8)

    /// A block with codes of its own.
    private static let dynamic = Array(
        Data(
            base64Encoded: """
                eNpt0rkRAyEMBdDcVWwJ6OLYbuwGPLOJ2/clQEJE/K/kDaDr+TrSedyuzwnncX/8En6TZvpnbdybdpldJ9lOdFZUqENoRoDkCIDFAAwI0EYB7h\
                eR4UC2UPFQXaEWIEwbCEEhxPlkZCBkB6EsEOYIlR1UO9QGRMl+DjiIcIGIAkS8gUgUojyhYqHqobZAnALEsIEYFWIaELOBWPy+5RUqEao7qCkk\
                aUACBhJ0kNC62RwgkQ0kuUNlQtVC461ub2uWCm4=
                """) ?? Data())

    @Test("have a checksum of their own", arguments: [("", 1), ("Wikipedia", 0x11E6_0398)] as [(String, UInt32)])
    func checksum(text: String, value: UInt32) {
        #expect(ZlibStream.adler32(Array(text.utf8)) == value)
    }

    @Test("are decompressed from blocks with own codes, with fixed codes, and without compression")
    func blocks() {
        #expect(ZlibStream.decompress(Self.dynamic, count: Self.bytes.count) == Self.bytes)
        let fixed: [UInt8] = [0x78, 0x9C, 0x4B, 0x4C, 0xA4, 0x3D, 0x00, 0x00, 0x7A, 0x47, 0x25, 0xE5]
        #expect(ZlibStream.decompress(fixed, count: 100) == [UInt8](repeating: 0x61, count: 100))
        let stored: [UInt8] = [0x78, 0x01, 1, 3, 0, 0xFC, 0xFF, 1, 2, 3, 0, 0x0D, 0, 7]
        #expect(ZlibStream.decompress(stored, count: 3) == [1, 2, 3])
    }

    @Test("are nothing when they make another length, are cut, have bytes behind them, or any bit of them is changed")
    func damaged() {
        let count = Self.bytes.count
        for other in [0, count - 1, count + 1] { #expect(ZlibStream.decompress(Self.dynamic, count: other) == nil) }
        for length in Self.dynamic.indices { #expect(ZlibStream.decompress(Array(Self.dynamic[..<length]), count: count) == nil) }
        #expect(ZlibStream.decompress(Self.dynamic + [0], count: count) == nil)
        for index in Self.dynamic.indices {
            for bit in 0..<8 {
                var changed = Self.dynamic
                changed[index] ^= 1 << bit
                let isSame = ZlibStream.decompress(changed, count: count) == Self.bytes
                // Another size of the window, or the bits behind the last block.
                if ZlibStream.decompress(changed, count: count) != nil { #expect(isSame, "byte \(index), bit \(bit)") }
            }
        }
    }

    @Test("are nothing with a wrong header, a dictionary, an unknown block, or a distance to before the data")
    func refused() {
        for header: [UInt8] in [[0x79, 0x9C], [0x88, 0x1C], [0x78, 0x9D], [0x78, 0xBB]] {
            #expect(ZlibStream.decompress(header + Self.dynamic.dropFirst(2), count: Self.bytes.count) == nil)
        }
        // The last block of type 3; and "repeat 258 bytes" as the first symbol.
        for block: [UInt8] in [[0x07, 0], [0x1B, 0x05, 0, 0]] {
            #expect(ZlibStream.decompress([0x78, 0x01] + block + [0, 0, 0, 1], count: 258) == nil)
        }
    }

    @Test("are nothing when a code has more sequences of bits than there are, or fewer")
    func codes() throws {
        #expect(throws: DeflateError.self) { try HuffmanCode([1, 1, 1]) }
        #expect(throws: DeflateError.self) { try HuffmanCode([1, 2]) }
        #expect(throws: DeflateError.self) { try HuffmanCode([1, 0]) }
        #expect(throws: DeflateError.self) { try HuffmanCode([2, 0], allowsSingle: true) }
        _ = try HuffmanCode([1, 0], allowsSingle: true)
        _ = try HuffmanCode([0, 0], allowsSingle: true)
        _ = try HuffmanCode([2, 1, 2])
    }
}
