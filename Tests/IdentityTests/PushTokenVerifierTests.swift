import Foundation
import Testing
import WebhookTestSupport

@testable import Identity

@Suite("Tokens of push subscriptions")
struct PushTokenVerifierTests {
    private static let now = 1_767_225_600
    private static let tokens = PushTokens()

    private func header(_ changes: [String: String?] = [:]) -> String { Self.tokens.header(changes, at: Self.now) }

    private func rejection(_ header: String?, at seconds: Int = now) async -> TokenRejection? {
        let verifier = PushTokenVerifier(
            audience: PushTokens.audience, email: PushTokens.email, keySet: await Forge.keySet(Self.tokens.keys))
        do throws(TokenRejection) {
            try await verifier.authenticate(header, now: Date(timeIntervalSince1970: Double(seconds)))
            return nil
        } catch {
            return error
        }
    }

    @Test("the service account's token is accepted, from either form of the issuer")
    func accepted() async throws {
        #expect(await rejection(header()) == nil)
        #expect(await rejection(header(["iss": "\"accounts.google.com\""])) == nil)
    }

    @Test(
        "a token of another account, audience or issuer is rejected",
        arguments: [
            ("email", "\"other@project.iam.gserviceaccount.com\"", TokenRejection.subject), ("email", nil, .subject),
            ("email_verified", "false", .subject), ("email_verified", nil, .subject), ("aud", "\"https://other.example\"", .audience),
            ("aud", nil, .audience), ("iss", "\"https://accounts.google.com.example\"", .issuer), ("exp", nil, .noExpiry),
        ] as [(String, String?, TokenRejection)])
    func rejected(claim: String, value: String?, expected: TokenRejection) async throws {
        #expect(await rejection(header([claim: value])) == expected)
    }

    @Test("time, signature and scheme are checked")
    func checked() async throws {
        #expect(await rejection(header(), at: Self.now + 3631) == .expired)
        #expect(await rejection(header(), at: Self.now - 31) == .notYetValid)
        #expect(await rejection(nil) == .missing)
        #expect(await rejection("Basic abc") == .missing)
        let valid = header()
        #expect(await rejection(valid.dropLast(4) + "AAAA") == .signature)
    }
}
