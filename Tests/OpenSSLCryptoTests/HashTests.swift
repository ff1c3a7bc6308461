import CoachCore
import Crypto
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
        for (text, digest) in examples { #expect(hexadecimal(OpenSSLCrypto.SHA256.hash(Array(text.utf8))) == digest, "\(text)") }
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

    @Test("codes are those of swift-crypto for keys and messages of many lengths", arguments: [0, 1, 31, 32, 63, 64, 65, 200])
    func lengths(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) }
        let key = AuthenticationKey(bytes)
        for length in [0, 1, 55, 56, 64, 1000] {
            let message = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
            let expected = HMAC<Crypto.SHA256>.authenticationCode(for: message, using: SymmetricKey(data: bytes))
            #expect(key.code(of: message) == Array(expected))
        }
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
