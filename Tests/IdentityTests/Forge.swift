import Foundation

@testable import Identity

/// Creates HS256 tokens from any header and payload, valid or not.
enum Forge {
    static let secret = sharedSecret(Fixture.secret)
    static let now = Date(timeIntervalSince1970: Fixture.now)
    static let user = "11111111-2222-4333-8444-555555555555"
    static let issuer = "https://issuer.test/auth/v1"
    static let policy = TokenPolicy(issuer: issuer)

    static func sharedSecret(_ text: String) -> SharedSecret {
        guard let secret = try? SharedSecret(text) else { preconditionFailure("the test's secret is too short") }
        return secret
    }

    /// The claims of a valid token with `changes`; nil removes a claim.
    static func payload(_ changes: [String: String?] = [:]) -> String {
        var claims: [String: String?] = [
            "aud": #""authenticated""#, "exp": "\(Int(Fixture.now) + 3600)", "iss": "\"\(issuer)\"", "sub": "\"\(user)\"",
            "role": #""authenticated""#,
        ]
        for (name, value) in changes { claims[name] = value }
        return "{" + claims.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }.sorted().joined(separator: ",") + "}"
    }

    static func bearer(header: String = #"{"alg":"HS256","typ":"JWT"}"#, payload: String = payload()) -> String {
        "Bearer " + DevelopmentTokens.sign(header: header, payload: payload, secret: secret)
    }

    static func bearer(_ changes: [String: String?]) -> String { bearer(payload: payload(changes)) }

    static func keySet(_ document: String = Fixture.jwks) async -> KeySet {
        let keySet = KeySet(source: KeySource(interval: .seconds(600)) { Array(document.utf8) })
        await keySet.load()
        return keySet
    }

    /// Accepts the secret only.
    static let verifier = TokenVerifier(policy: policy, secret: secret, keySet: nil)

    /// Accepts the secret and the three public keys of the fixtures.
    static func fullVerifier() async -> TokenVerifier {
        TokenVerifier(policy: policy, secret: secret, keySet: await keySet())
    }
}
