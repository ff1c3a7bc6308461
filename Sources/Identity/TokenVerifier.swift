import CoachCore
import Foundation

/// Authenticates requests: verifies the token of an `Authorization` header and returns the `Caller`.
public struct TokenVerifier: Sendable {
    /// The most bytes of a token; longer ones are rejected before they are decoded.
    public static let maximumTokenByteCount = 8 * 1024

    private let policy: TokenPolicy
    private let secret: SharedSecret?
    private let keySet: KeySet?

    /// - Parameters:
    ///   - secret: verifies HS256 tokens; nil rejects them.
    ///   - keySet: verifies tokens with public-key signatures; nil rejects them.
    public init(policy: TokenPolicy, secret: SharedSecret?, keySet: KeySet?) {
        self.policy = policy
        self.secret = secret
        self.keySet = keySet
    }

    /// Verifies a token with the current key set. Synchronous, without I/O.
    public func verify(_ authorizationHeader: String?, now: Date) throws(TokenRejection) -> Caller {
        try policy.caller(of: TokenClaims(payload: payload(authorizationHeader)), now: now)
    }

    /// Whether tokens can be verified. Beside a secret, a key set need not be loaded: an instance that starts while the issuer is away then serves the
    /// users with HS256 tokens, and asks the others to try again. If it were not ready it would serve none of them.
    public var isReady: Bool { secret != nil || keySet?.current != nil }

    /// Verifies a token, and reloads the key set once if its `kid` is unknown, or no keys are loaded yet. Concurrent callers share one reload, and
    /// unknown key ids start one at most every 10 s. Suspends only for a reload.
    public func authenticate(_ authorizationHeader: String?, now: Date) async throws(TokenRejection) -> Caller {
        try policy.caller(of: TokenClaims(payload: await payloadWithCurrentKeys(authorizationHeader)), now: now)
    }

    /// The payload of a token, after a reload of the key set if needed; its signature is verified, its claims are not.
    func payloadWithCurrentKeys(_ authorizationHeader: String?) async throws(TokenRejection) -> [UInt8] {
        do throws(TokenRejection) {
            return try payload(authorizationHeader)
        } catch {
            guard error == .unknownKey || error == .keysNotLoaded, let keySet, await keySet.reloadForUnknownKey() else { throw error }
            return try payload(authorizationHeader)
        }
    }

    private func payload(_ authorizationHeader: String?) throws(TokenRejection) -> [UInt8] {
        let token = try CompactToken(BearerHeader.token(in: authorizationHeader))
        try checkSignature(of: token)
        return token.payload
    }

    private func checkSignature(of token: CompactToken) throws(TokenRejection) {
        let keys = keySet?.current
        let key = token.header.keyID.flatMap { keys?[$0] }
        if token.header.algorithm == "HS256" {
            // A kid in an HS256 token is ignored, because some issuers add one to shared secrets. But the kid of a public key must never
            // select the secret: that is one half of the algorithm confusion attack, whose other half uses the public key as the secret
            // (RFC 8725 §2.1).
            guard let secret, key == nil else { throw .algorithm }
            guard secret.verify(token.signature, signs: token.signedText) else { throw .signature }
            return
        }
        guard let algorithm = AsymmetricAlgorithm(rawValue: token.header.algorithm) else { throw .algorithm }
        // Without a kid the token has a key in no set.
        if keySet != nil, keys == nil, token.header.keyID != nil { throw .keysNotLoaded }
        guard let key else { throw .unknownKey }
        guard key.algorithm == algorithm else { throw .algorithm }
        guard key.verify(token.signature, signs: token.signedText) else { throw .signature }
    }
}
