import CoachCore
import Testing

@testable import OpenSSLCrypto

@Suite("Hashes and codes")
struct HashTests {
    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test("SHA-256 is that of FIPS 180-4's examples")
    func hashes() {
        let examples = [
            "": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "abc": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq":
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ]
        for (text, digest) in examples { #expect(hexadecimal(SHA256.hash(Array(text.utf8))) == digest, "\(text)") }
    }

    @Test("the code of RFC 7515 A.1 is verified, and no change of it")
    func code() throws {
        let key = AuthenticationKey(
            try #require(Base64URL.decode("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow".utf8)))
        let message = Array(
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
                .utf8)
        var code = try #require(Base64URL.decode("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".utf8))
        #expect(key.code(of: message) == code && key.isCode(code, of: message[...]))
        #expect(!key.isCode(Array(code.dropLast()), of: message[...]) && !key.isCode(code + [0], of: message[...]))
        #expect(!key.isCode([], of: message[...]) && !key.isCode(code, of: message.dropLast()))
        code[31] ^= 1
        #expect(!key.isCode(code, of: message[...]))
    }

    @Test(
        "codes are those of Python's hmac for keys and messages of many lengths",
        arguments: [
            (0, "cb022cf05460710791629dab196efdeb540b092eb70ee2b05bb354866e93fb2b"),
            (1, "cb022cf05460710791629dab196efdeb540b092eb70ee2b05bb354866e93fb2b"),
            (31, "70a6e4f1556fbf7dba1e12c26d5ba2ca4246e1604331f9d96f2f5a7982b3fbab"),
            (32, "4832755ee6a9b8203daff1037fd6ac5faac0055ebad410e1a87fd9a92501a181"),
            (63, "711f022fcbf992cdaa5baeff42109d2613fc5d4be1a5b8b37b6fe203b9acee8c"),
            (64, "bab22922844f2682f103004e008431aa5be647ed7ae742df9501976ebc9ca9e0"),
            (65, "67614a0f9381e705a77d37163db763f5d65bcbf0d8a7da6e3e1f197a25888b41"),
            (200, "5f89b9c44c1793b4a2f06d85b7e6e3c7ac8d4a50f71495acb4e295d88a604a7a"),
        ])
    func lengths(count: Int, digestOfAll: String) {
        let key = AuthenticationKey((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) })
        let codes = [0, 1, 55, 56, 64, 1000].flatMap { length in key.code(of: (0..<length).map { UInt8(truncatingIfNeeded: $0) }) }
        #expect(codes.count == 6 * 32 && hexadecimal(SHA256.hash(codes)) == digestOfAll)
    }

    @Test("many threads use one key at once")
    func concurrent() async {
        let key = AuthenticationKey("a secret of at least thirty-two bytes".utf8)
        let codes = await withTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<200 { group.addTask { key.code(of: Array("message".utf8)) } }
            return await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
        }
        #expect(codes.count == 1 && codes.first?.count == 32)
    }

    @Test("two values are equal only with the length of a digest")
    func equality() {
        let digest = [UInt8](repeating: 7, count: 32)
        #expect(ConstantTime.areEqual(digest, digest))
        #expect(!ConstantTime.areEqual([], []) && !ConstantTime.areEqual(digest, digest + [0]))
    }
}
