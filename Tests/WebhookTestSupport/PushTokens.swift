import CoachCore

/// Signs the OIDC tokens of a push subscription, as Google does, with a key of its own.
package struct PushTokens: Sendable {
    package static let email = "push@project.iam.gserviceaccount.com"
    package static let audience = "https://coach.example/functions/v1/webhook-play"

    private let key = SigningKey()

    package init() {}

    /// The JSON Web Key Set of the key.
    package var keys: String {
        let point = key.point
        let (x, y) = (Base64URL.encode(point.x), Base64URL.encode(point.y))
        return #"{"keys":[{"kty":"EC","kid":"google-1","alg":"ES256","crv":"P-256","x":"\#(x)","y":"\#(y)"}]}"#
    }

    /// An `Authorization` header, valid for an hour. `changes`: claims in JSON; nil removes one.
    package func header(_ changes: [String: String?] = [:], at seconds: Int) -> String {
        var claims: [String: String?] = [
            "aud": "\"\(Self.audience)\"", "iss": "\"https://accounts.google.com\"", "email": "\"\(Self.email)\"",
            "email_verified": "true", "iat": "\(seconds)", "exp": "\(seconds + 3600)", "sub": "\"113774264463038321964\"",
        ]
        for (name, value) in changes { claims[name] = value }
        let payload = "{" + claims.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }.sorted().joined(separator: ",") + "}"
        let text = Base64URL.encode(#"{"alg":"ES256","kid":"google-1"}"#.utf8) + "." + Base64URL.encode(payload.utf8)
        return "Bearer \(text)." + Base64URL.encode(key.signature(of: Array(text.utf8)))
    }
}
