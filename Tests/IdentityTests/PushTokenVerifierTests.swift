import CoachCore
import Crypto
import Foundation
import Testing

@testable import Identity

@Suite("Tokens of push subscriptions")
struct PushTokenVerifierTests {
    private static let key = P256.Signing.PrivateKey()
    private static let now = 1_767_225_600
    private static let email = "push@project.iam.gserviceaccount.com"
    private static let audience = "https://coach.example/functions/v1/webhook-play"

    private static let keys: String = {
        let point = Array(key.publicKey.rawRepresentation)
        let (x, y) = (Base64URL.encode(point.prefix(32)), Base64URL.encode(point.suffix(32)))
        return #"{"keys":[{"kty":"EC","kid":"google-1","alg":"ES256","crv":"P-256","x":"\#(x)","y":"\#(y)"}]}"#
    }()

    private func header(_ changes: [String: String?] = [:]) throws -> String {
        var claims: [String: String?] = [
            "aud": "\"\(Self.audience)\"", "iss": "\"https://accounts.google.com\"", "email": "\"\(Self.email)\"", "email_verified": "true",
            "iat": "\(Self.now)", "exp": "\(Self.now + 3600)", "sub": "\"113774264463038321964\"",
        ]
        for (name, value) in changes { claims[name] = value }
        let payload = "{" + claims.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }.sorted().joined(separator: ",") + "}"
        let text = Base64URL.encode(#"{"alg":"ES256","kid":"google-1"}"#.utf8) + "." + Base64URL.encode(payload.utf8)
        return "Bearer \(text)." + Base64URL.encode(try Self.key.signature(for: Data(text.utf8)).rawRepresentation)
    }

    private func rejection(_ header: String?, at seconds: Int = now) async -> TokenRejection? {
        let verifier = PushTokenVerifier(audience: Self.audience, email: Self.email, keySet: await Forge.keySet(Self.keys))
        do throws(TokenRejection) {
            try await verifier.authenticate(header, now: Date(timeIntervalSince1970: Double(seconds)))
            return nil
        } catch {
            return error
        }
    }

    @Test("the service account's token is accepted, from either form of the issuer")
    func accepted() async throws {
        #expect(await rejection(try header()) == nil)
        #expect(await rejection(try header(["iss": "\"accounts.google.com\""])) == nil)
    }

    @Test(
        "a token of another account, audience or issuer is rejected",
        arguments: [
            ("email", "\"other@project.iam.gserviceaccount.com\"", TokenRejection.subject), ("email", nil, .subject),
            ("email_verified", "false", .subject), ("email_verified", nil, .subject), ("aud", "\"https://other.example\"", .audience),
            ("aud", nil, .audience), ("iss", "\"https://accounts.google.com.example\"", .issuer), ("exp", nil, .noExpiry),
        ] as [(String, String?, TokenRejection)])
    func rejected(claim: String, value: String?, expected: TokenRejection) async throws {
        #expect(await rejection(try header([claim: value])) == expected)
    }

    @Test("time, signature and scheme are checked")
    func checked() async throws {
        #expect(await rejection(try header(), at: Self.now + 3631) == .expired)
        #expect(await rejection(try header(), at: Self.now - 31) == .notYetValid)
        #expect(await rejection(nil) == .missing)
        #expect(await rejection("Basic abc") == .missing)
        let valid = try header()
        #expect(await rejection(valid.dropLast(4) + "AAAA") == .signature)
    }
}
