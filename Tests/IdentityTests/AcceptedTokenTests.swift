import CoachCore
import Foundation
import Testing

@testable import Identity

@Suite("Accepted tokens")
struct AcceptedTokenTests {
    @Test(
        "a token that another library signed is accepted with its subject, roles, claims and expiry",
        arguments: [Fixture.hs256, Fixture.hs256WithKid, Fixture.rs256, Fixture.es256, Fixture.edDSA])
    func foreignTokens(token: String) async throws {
        let caller = try await Forge.fullVerifier().verify("Bearer \(token)", now: Forge.now)
        #expect("\(caller.userID)" == Forge.user)
        #expect(caller.role == .operator)
        #expect(caller.claims == #"{"app_metadata":{"role":"operator"},"role":"authenticated","sub":"\#(Forge.user)"}"#)
        #expect(caller.expiresAt == Forge.now.addingTimeInterval(3600))
    }

    @Test(
        "the scheme may be written in any case, with several spaces",
        arguments: ["Bearer", "bearer", "BEARER", "Bearer  ", "Bearer     ", " \tBearer"])
    func scheme(prefix: String) throws {
        let header = Forge.bearer().replacing("Bearer", with: prefix)
        #expect(throws: Never.self) { try Forge.verifier.verify(header, now: Forge.now) }
    }

    @Test(
        "the audience may be a name or a list that contains it",
        arguments: [#""authenticated""#, #"["authenticated"]"#, #"["other","authenticated"]"#])
    func audiences(audience: String) {
        #expect(throws: Never.self) { try Forge.verifier.verify(Forge.bearer(["aud": audience]), now: Forge.now) }
    }

    @Test("clocks may differ by 30 s in both directions")
    func leeway() {
        let seconds = Int(Fixture.now)
        #expect(throws: Never.self) { try Forge.verifier.verify(Forge.bearer(["exp": "\(seconds - 29)"]), now: Forge.now) }
        #expect(throws: Never.self) { try Forge.verifier.verify(Forge.bearer(["nbf": "\(seconds + 30)"]), now: Forge.now) }
        #expect(throws: TokenRejection.expired) { try Forge.verifier.verify(Forge.bearer(["exp": "\(seconds - 30)"]), now: Forge.now) }
        #expect(throws: TokenRejection.notYetValid) { try Forge.verifier.verify(Forge.bearer(["nbf": "\(seconds + 31)"]), now: Forge.now) }
    }

    @Test("times may be fractions")
    func fractions() throws {
        let caller = try Forge.verifier.verify(Forge.bearer(["exp": "\(Fixture.now + 60.5)"]), now: Forge.now)
        #expect(caller.expiresAt == Forge.now.addingTimeInterval(60.5))
    }

    @Test("without a configured issuer a token of any issuer is accepted, if the key is known")
    func anyIssuer() {
        let verifier = TokenVerifier(policy: TokenPolicy(), secret: Forge.secret, keySet: nil)
        #expect(throws: Never.self) { try verifier.verify(Forge.bearer(["iss": #""https://elsewhere""#]), now: Forge.now) }
        #expect(throws: Never.self) { try verifier.verify(Forge.bearer(["iss": nil]), now: Forge.now) }
    }

    @Test("the subject is converted to lower case")
    func canonicalSubject() throws {
        let caller = try Forge.verifier.verify(Forge.bearer(["sub": "\"ABCDEFAB-2222-4333-8444-555555555555\""]), now: Forge.now)
        #expect(caller.claims == #"{"role":"authenticated","sub":"abcdefab-2222-4333-8444-555555555555"}"#)
    }

    @Test("a token of 8 KiB is accepted")
    func longest() {
        var padding = 5500
        var header = ""
        repeat {
            padding += 1
            header = Forge.bearer(["x": "\"\(String(repeating: "x", count: padding))\""])
        } while header.utf8.count < TokenVerifier.maximumTokenByteCount + "Bearer ".utf8.count
        #expect(throws: Never.self) { try Forge.verifier.verify(header, now: Forge.now) }
        #expect(throws: TokenRejection.tooLong) { try Forge.verifier.verify(header + "A", now: Forge.now) }
    }
}
