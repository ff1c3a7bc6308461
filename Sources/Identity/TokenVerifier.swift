import CoachCore
import Foundation

/// Turns an `Authorization` header into a `Caller`, or says why not.
public struct TokenVerifier: Sendable {
    /// Longer tokens are refused before they are decoded.
    public static let maximumTokenByteCount = 8 * 1024

    private let policy: TokenPolicy
    private let secret: SharedSecret?
    private let keySet: KeySet?

    /// Without a secret no HS256 token is accepted, without a key set no other; without both, none.
    public init(policy: TokenPolicy, secret: SharedSecret?, keySet: KeySet?) {
        self.policy = policy
        self.secret = secret
        self.keySet = keySet
    }

    /// Synchronous and without I/O: the key set is read as it is now.
    public func verify(_ authorizationHeader: String?, now: Date) throws(TokenRejection) -> Caller {
        let token = try CompactToken(BearerHeader.token(in: authorizationHeader))
        try checkSignature(of: token)
        return try policy.caller(of: TokenClaims(payload: token.payload), now: now)
    }

    /// As `verify`, but a `kid` that is unknown is looked for once more after the key set was loaded again. The loading is shared
    /// by all who wait for it, and started for strangers at most every 10 s; otherwise this does not suspend.
    public func authenticate(_ authorizationHeader: String?, now: Date) async throws(TokenRejection) -> Caller {
        do {
            return try verify(authorizationHeader, now: now)
        } catch .unknownKey {
            guard let keySet, await keySet.reloadForUnknownKey() else { throw .unknownKey }
            return try verify(authorizationHeader, now: now)
        }
    }

    private func checkSignature(of token: CompactToken) throws(TokenRejection) {
        let key = token.header.keyID.flatMap { keySet?.current[$0] }
        if token.header.algorithm == "HS256" {
            // Issuers put a kid on secrets too, and it names nothing here. But the kid of a public key must never lead to the
            // secret: that is the first half of the classic confusion, whose second half is the public key as the secret.
            guard let secret, key == nil else { throw .algorithm }
            guard secret.verify(token.signature, signs: token.signedText) else { throw .signature }
            return
        }
        guard let algorithm = AsymmetricAlgorithm(rawValue: token.header.algorithm) else { throw .algorithm }
        guard let key else { throw .unknownKey }
        guard key.algorithm == algorithm else { throw .algorithm }
        guard key.verify(token.signature, signs: token.signedText) else { throw .signature }
    }
}
