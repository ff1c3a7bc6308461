import CoachCore
import Foundation
import Testing

@testable import Identity

@Suite("Rejected tokens")
struct RejectedTokenTests {
    private func rejection(_ header: String?, by verifier: TokenVerifier = Forge.verifier) -> TokenRejection? {
        do {
            _ = try verifier.verify(header, now: Forge.now)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "no credential, or one of another scheme, is a missing token",
        arguments: [nil, "", " ", "Bearer", "Bearer ", "Bearerx.y.z", "Basic dXNlcjpwYXNz", "Token a.b.c", "\u{212A}earer a.b.c"])
    func missing(header: String?) {
        #expect(rejection(header) == .missing)
    }

    @Test("a token with the algorithm none, in any case, is rejected", arguments: ["none", "None", "NONE", "nOnE", ""])
    func algorithmNone(name: String) async {
        let header = #"{"alg":"\#(name)","typ":"JWT"}"#
        let unsigned = "Bearer \(Base64URL.encode(header.utf8)).\(Base64URL.encode(Forge.payload().utf8))."
        #expect(rejection(unsigned) == .algorithm)
        #expect(rejection(Forge.bearer(header: header)) == .algorithm)
        #expect(rejection(unsigned, by: await Forge.fullVerifier()) == .algorithm)
    }

    @Test(
        "an algorithm other than the key's is rejected, even with a valid signature",
        arguments: [
            Fixture.rs256NamingElliptic, Fixture.es256NamingRSA, Fixture.rs384, Fixture.ps256,
            Fixture.hs256WithPublicKeyAsSecret, Fixture.hs256OfSecretWithKidOfPublicKey,
        ])
    func algorithmOfAnotherKey(token: String) async {
        #expect(rejection("Bearer \(token)", by: await Forge.fullVerifier()) == .algorithm)
    }

    @Test("a public key is never used as the secret")
    func publicKeyAsSecret() async {
        let verifier = await Forge.fullVerifier()
        #expect(rejection("Bearer \(Fixture.hs256WithPublicKeyBytesAsSecretAndNoKid)", by: verifier) == .signature)
        let withoutSecret = TokenVerifier(policy: Forge.policy, secret: nil, keySet: await Forge.keySet())
        #expect(rejection("Bearer \(Fixture.hs256WithPublicKeyAsSecret)", by: withoutSecret) == .algorithm)
        #expect(rejection("Bearer \(Fixture.hs256)", by: withoutSecret) == .algorithm)
    }

    @Test(
        "an unknown or absent kid never falls back to another key",
        arguments: [Fixture.es256UnknownKid, Fixture.es256WithoutKid, Fixture.es256WithItsOwnKeyInTheHeader])
    func unknownKey(token: String) async {
        #expect(rejection("Bearer \(token)", by: await Forge.fullVerifier()) == .unknownKey)
        #expect(rejection("Bearer \(token)") == .unknownKey)
    }

    @Test(
        "a signature of another key, of another format or of no text is wrong",
        arguments: [Fixture.es256OfAnotherKey, Fixture.es256InDER, Fixture.es256OfZeros])
    func wrongSignature(token: String) async {
        #expect(rejection("Bearer \(token)", by: await Forge.fullVerifier()) == .signature)
    }

    @Test(
        "a token with one changed bit anywhere is rejected",
        arguments: [Fixture.hs256, Fixture.rs256, Fixture.es256, Fixture.edDSA])
    func everyBit(token: String) async {
        let verifier = await Forge.fullVerifier()
        let bytes = Array(token.utf8)
        for position in stride(from: 0, to: bytes.count, by: 7) {
            var changed = bytes
            changed[position] ^= 1
            #expect(rejection("Bearer " + String(decoding: changed, as: UTF8.self), by: verifier) != nil)
        }
    }

    @Test(
        "a signature of any other length is wrong and does not crash",
        arguments: [Fixture.hs256, Fixture.rs256, Fixture.es256, Fixture.edDSA])
    func signatureLengths(token: String) async throws {
        let verifier = await Forge.fullVerifier()
        let text = token.prefix(through: try #require(token.lastIndex(of: ".")))
        for length in [0, 1, 31, 33, 63, 65, 128, 255, 257, 300] {
            let signature = Base64URL.encode([UInt8](repeating: 7, count: length))
            #expect(rejection("Bearer \(text)\(signature)", by: verifier) == .signature)
        }
    }

    @Test("a critical extension is rejected, because none is implemented", arguments: [#"["b64"]"#, "[]", "null", #""exp""#])
    func critical(value: String) {
        #expect(rejection(Forge.bearer(header: #"{"alg":"HS256","crit":\#(value)}"#)) == .algorithm)
    }

    @Test(
        "a header that is not an object with strings is malformed",
        arguments: [
            "", "null", "[]", "1", #""HS256""#, "{}", #"{"alg":1}"#, #"{"alg":null}"#, #"{"alg":["HS256"]}"#, #"{"alg":"HS256","kid":7}"#,
        ])
    func malformedHeader(header: String) {
        #expect(rejection(Forge.bearer(header: header)) == .malformed)
    }

    @Test(
        "a payload that is not an object of the expected types is malformed",
        arguments: [
            "", "null", "[]", "1", #""x""#, "{", #"{"exp":"1"}"#, Forge.payload(["exp": #""1767229200""#]), Forge.payload(["exp": "1e400"]),
            Forge.payload(["exp": "1e300"]), Forge.payload(["exp": "true"]), Forge.payload(["nbf": #""1""#]), Forge.payload(["aud": "7"]),
            Forge.payload(["aud": #"["authenticated",7]"#]), Forge.payload(["aud": #"{"0":"authenticated"}"#]), Forge.payload(["sub": "7"]),
            Forge.payload(["role": "[\"authenticated\"]"]), Forge.payload(["iss": "[\"\(Forge.issuer)\"]"]),
            String(repeating: "[", count: 3000),
        ])
    func malformedPayload(payload: String) {
        #expect(rejection(Forge.bearer(payload: payload)) == .malformed)
    }

    @Test("a payload that is not UTF-8 is malformed")
    func notUTF8() {
        let text = Base64URL.encode(#"{"alg":"HS256"}"#.utf8) + "." + Base64URL.encode([0x7B, 0x22, 0xFF, 0xFE, 0x22, 0x3A, 0x31, 0x7D])
        let token = text + "." + Base64URL.encode(Forge.secret.sign(text.utf8))
        #expect(rejection("Bearer \(token)") == .malformed)
    }

    @Test("a token has three parts")
    func parts() {
        let token = DevelopmentTokens.sign(header: #"{"alg":"HS256"}"#, payload: Forge.payload(), secret: Forge.secret)
        let parts = token.split(separator: ".")
        for wrong in [
            "x", "\(parts[0])", "\(parts[0]).\(parts[1])", token + ".", token + ".x", "." + token, "..",
            ".\(parts[1]).\(parts[2])", token + "." + token, "\(token) \(token)", "\(token),\(token)",
        ] {
            #expect(rejection("Bearer \(wrong)") == .malformed)
        }
        #expect(rejection("Bearer \(parts[0])..\(parts[2])") == .signature)
    }

    @Test("a part that is not base64url is malformed: padding, the other alphabet, white space, one character too many")
    func notBase64URL() {
        let token = Forge.bearer()
        for suffix in ["=", "==", "+", "/", "é", "\n", "%3D"] {
            #expect(rejection(token + suffix) == .malformed)
        }
        // 43 characters are 32 bytes; 44 are 33 bytes, and 45 are not a number of bytes.
        #expect(rejection(token + "AA") == .malformed)
    }

    @Test(
        "an empty, missing or different audience is rejected",
        arguments: ["[]", nil, "null", #""""#, #""other""#, #"["other"]"#, #""Authenticated""#])
    func audience(audience: String?) {
        #expect(rejection(Forge.bearer(["aud": audience])) == .audience)
    }

    @Test(
        "a different or missing issuer is rejected",
        arguments: [nil, "null", #""https://issuer.test""#, #""https://issuer.test/auth/v1/""#])
    func issuer(issuer: String?) {
        #expect(rejection(Forge.bearer(["iss": issuer])) == .issuer)
    }

    @Test("a token without expiry is rejected", arguments: [nil, "null"])
    func endless(expiry: String?) {
        #expect(rejection(Forge.bearer(["exp": expiry])) == .noExpiry)
    }

    @Test("a token with a wrong signature is rejected for it, also when it has expired")
    func expired() {
        let expired = Forge.bearer(["exp": "\(Int(Fixture.now) - 60)"])
        #expect(rejection(expired) == .expired)
        #expect(rejection(Forge.bearer(["exp": "-1e300"])) == .expired)
        let other = TokenVerifier(policy: Forge.policy, secret: Forge.sharedSecret(String(repeating: "x", count: 32)), keySet: nil)
        #expect(rejection(expired, by: other) == .signature)
    }

    @Test(
        "a subject that is not a UUID is rejected",
        arguments: [
            nil, "null", #""""#, #""1""#, #""11111111222243338444555555555555""#, #""{11111111-2222-4333-8444-555555555555}""#,
            #""11111111-2222-4333-8444-55555555555g""#,
        ])
    func subject(subject: String?) {
        #expect(rejection(Forge.bearer(["sub": subject])) == .subject)
    }

    @Test("a token over 8 KiB is rejected before it is decoded")
    func tooLong() {
        #expect(rejection("Bearer " + String(repeating: "a", count: 8193)) == .tooLong)
        #expect(rejection("Bearer " + String(repeating: "a", count: 8192)) == .malformed)
    }

    @Test("a secret under 32 bytes is an error that does not contain it")
    func secrets() throws {
        #expect(throws: SharedSecret.TooShort.self) { try SharedSecret(String(repeating: "x", count: 31)) }
        let secret = try SharedSecret(String(repeating: "s", count: 32))
        var dumped = ""
        dump(secret, to: &dumped)
        #expect("\(secret)\(dumped)".contains("ssss") == false)
    }
}
