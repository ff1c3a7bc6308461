import CoachCore
import Testing

@Suite("base64url")
struct Base64URLTests {
    @Test("bytes of every length are encoded and decoded")
    func roundTrip() {
        for length in 0...70 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 89 &+ 200) }
            #expect(Base64URL.decode(Base64URL.encode(bytes).utf8) == bytes)
        }
    }

    @Test("the vectors of RFC 4648 §10, without padding")
    func vectors() {
        for (plain, text) in [
            ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"), ("foobar", "Zm9vYmFy"),
        ] {
            #expect(Base64URL.encode(plain.utf8) == text)
            #expect(Base64URL.decode(text.utf8) == Array(plain.utf8))
        }
        #expect(Base64URL.encode([0xFB, 0xFF]) == "-_8")
    }

    @Test("only the canonical encoding is decoded: unused bits must be zero, and a single extra character is an error")
    func canonical() {
        #expect(Base64URL.decode("Zh".utf8) == nil)
        #expect(Base64URL.decode("Zm9".utf8) == nil)
        #expect(Base64URL.decode("Zm9vY".utf8) == nil)
        #expect(Base64URL.decode("A".utf8) == nil)
    }
}
