import Foundation

/// Valid and invalid access tokens.
struct Token {
    /// The secret of all gateways in these tests.
    static let secret = "end-to-end-secret-end-to-end-secret-0123456789"

    var header: [String: Any] = ["alg": "HS256", "typ": "JWT"]
    var claims: [String: Any]
    var secret = Token.secret

    /// A token of an ordinary user, valid for an hour.
    init(user: String) {
        let now = Int(Date().timeIntervalSince1970)
        claims = ["sub": user, "aud": "authenticated", "role": "authenticated", "iat": now, "exp": now + 3600]
    }

    /// The same with other claims; `nil` removes a claim.
    func with(_ changes: [String: Any?]) -> Token {
        var token = self
        for (name, value) in changes { token.claims[name] = value }
        return token
    }

    var text: String {
        let parts = Self.base64(Self.json(header)) + "." + Self.base64(Self.json(claims))
        return parts + "." + Self.base64(SHA256.hmac(key: Array(secret.utf8), message: Array(parts.utf8)))
    }

    /// A token with an empty signature.
    var unsigned: String { Self.base64(Self.json(header)) + "." + Self.base64(Self.json(claims)) + "." }

    private static func json(_ object: [String: Any]) -> [UInt8] {
        (try? JSONSerialization.data(withJSONObject: object, options: .sortedKeys)).map(Array.init) ?? []
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
