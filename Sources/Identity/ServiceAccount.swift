import CoachCore
import Foundation
import JSON
import OutboundHTTP

/// Obtains access tokens for Google APIs with a service account's key (OAuth 2 JWT bearer grant, RFC 7523), and caches the current one.
public actor ServiceAccount {
    /// The token server gave no access token.
    public struct NoToken: Error, CustomStringConvertible {
        public let description: String
    }

    private static let lifetime: TimeInterval = 3600
    /// Seconds. An access token is not used in its last minute, because requests take time and clocks differ.
    private static let margin: TimeInterval = 60

    private let file: ServiceAccountFile
    private let scope: String
    private let client: OutboundHTTPClient
    private let now: @Sendable () -> Date
    private var current: (token: String, expiresAt: Date)?

    /// - Parameter scope: the OAuth scope of the access tokens.
    public init(file: ServiceAccountFile, scope: String, client: OutboundHTTPClient, now: @escaping @Sendable () -> Date = { Date() }) {
        self.file = file
        self.scope = scope
        self.client = client
        self.now = now
    }

    /// A token that is valid for at least another minute; requests a new one if the cached one is not. Throws `NoToken` or `OutboundError`.
    public func accessToken() async throws -> String {
        if let current, now() < current.expiresAt { return current.token }
        let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(try assertion())"
        var request = OutboundRequest(
            .post, url: file.tokenURL, headers: [.init("Content-Type", "application/x-www-form-urlencoded")], body: Array(form.utf8))
        request.mayBeSentTwice = true
        let response = try await client.send(request)
        guard response.status == 200, let json = try? JSONReader(parsing: response.body),
            let token = try? json.required("access_token", as: String.self), !token.utf8.contains(where: { $0 < 0x21 || $0 > 0x7E })
        else { throw NoToken(description: "the token server answered \(response.status) without a usable token") }
        let seconds = (try? json.required("expires_in", as: Int.self)) ?? 0
        current = (token, now().addingTimeInterval(TimeInterval(seconds) - Self.margin))
        return token
    }

    /// The signed token (RS256) that is exchanged for an access token: the claims of RFC 7523 §3.
    private func assertion() throws -> String {
        let header = JSONWriter.encode { json in
            json.object { json in
                json.member("alg", "RS256")
                if let keyID = file.keyID { json.member("kid", keyID) }
                json.member("typ", "JWT")
            }
        }
        let issuedAt = Int64(now().timeIntervalSince1970)
        let claims = JSONWriter.encode { json in
            json.object { json in
                json.member("aud", file.tokenURL)
                json.member("exp", issuedAt + Int64(Self.lifetime))
                json.member("iat", issuedAt)
                json.member("iss", file.email)
                json.member("scope", scope)
            }
        }
        let text = Base64URL.encode(header) + "." + Base64URL.encode(claims)
        guard let signature = file.key.sign(Array(text.utf8)) else {
            throw NoToken(description: "the key of the account made no signature")
        }
        return text + "." + Base64URL.encode(signature)
    }
}
