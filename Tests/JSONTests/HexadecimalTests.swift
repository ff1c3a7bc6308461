import JSON
import Testing

@Suite("Hexadecimal text")
struct HexadecimalTests {
    @Test("every byte is two lower-case digits, and parses in either case")
    func everyByte() {
        for byte in UInt8.min ... .max {
            let digits = String(byte, radix: 16)
            let text = (digits.utf8.count == 1 ? "0" : "") + digits
            #expect(Hexadecimal.encode([byte]) == text)
            #expect(Hexadecimal.decode(text.utf8) == [byte] && Hexadecimal.decode(text.uppercased().utf8) == [byte], "\(text)")
        }
        #expect(
            Hexadecimal.encode([0, 1, 0xAB, 0xFF] as [UInt8]) == "0001abff" && Hexadecimal.decode("0001abFF".utf8) == [0, 1, 0xAB, 0xFF])
        #expect(Hexadecimal.encode([UInt8]()).isEmpty && Hexadecimal.decode("".utf8) == [])
    }

    @Test("an integer is sixteen digits, the most significant first")
    func integers() {
        #expect(Hexadecimal.encode(0) == "0000000000000000" && Hexadecimal.encode(UInt64.max) == "ffffffffffffffff")
        #expect(Hexadecimal.encode(0x0123_4567_89AB_CDEF) == "0123456789abcdef")
    }

    @Test(
        "an odd number of digits and other characters are nil",
        arguments: ["0", "abc", "0g", "g0", "+1", " 1", "0x", "é", "００", "/:", "@`"])
    func malformed(_ text: String) {
        #expect(Hexadecimal.decode(text.utf8) == nil)
    }
}
