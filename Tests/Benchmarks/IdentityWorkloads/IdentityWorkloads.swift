import BenchmarkWorkloads
import Dispatch
import Foundation
import Identity

extension Workload {
    /// A bearer token to a caller: decode, signature, claims. HS256 is Supabase's shared secret, ES256 its signing keys.
    public static let identity: [Workload] = [
        Workload("token-hs256", .one) {
            let secret = try SharedSecret("bench-secret-of-at-least-thirty-two-bytes!")
            let token = try DevelopmentTokens.mint(
                user: .random(), role: nil, ttl: .seconds(3600), secret: secret, inProduction: false, now: Signed.time)
            return verifying("Bearer \(token)", with: TokenVerifier(policy: TokenPolicy(), secret: secret, keySet: nil))
        },
        Workload("token-es256", .one) {
            let keySet = KeySet(source: KeySource(interval: .seconds(600)) { Array(Signed.keys.utf8) })
            let loaded = DispatchSemaphore(value: 0)
            // The task is not cancelled: it returns at once, because its source has the keys.
            Task.detached {
                await keySet.load()
                loaded.signal()
            }
            loaded.wait()
            return verifying("Bearer \(Signed.token)", with: TokenVerifier(policy: TokenPolicy(), secret: nil, keySet: keySet))
        },
    ]

    private static func verifying(_ bearer: String, with verifier: TokenVerifier) -> Run {
        { count in
            for _ in 0..<count { blackHole(try verifier.verify(bearer, now: Signed.time)) }
        }
    }
}

/// A key and a token, the same as in the tests; valid for an hour from 2026-01-01T00:00:00Z.
private enum Signed {
    static let time = Date(timeIntervalSince1970: 1_767_225_600)
    static let keys = #"""
        {"keys":[{"kty":"RSA","kid":"rsa-1","use":"sig","n":"sls6hatJ1Jg9hI2LIHwChI4mqvdyWBOq7fYD3yO5BYJZxXlA_a5BrIr1RdzFvLUiDNy\#
        YrKRj67cRBlno37K2h3Rlqh4wgjdAxFeVfqqJ0hOsTuS5Bl6h8x-i77KqaxHALathmgYGc8xfe1QS4zwSLSiEW8Qo9GsEjANtT_tq64kaZg5rpdgTkZveKpF\#
        Sg3HyF88wN2PUIH08le0HQma7xxP5IfrUdwMj02g_JP6EL8tt0nLdOZk-DNW90h5fe1l4P12JLfuuhiLp19jCGv95vLd932sah0LEBx9D_Y4_kJ2aBUzzWQ5\#
        fHloiG7XTpljlWFGLC7ZhND-iA4cyMep71Q","e":"AQAB"},{"kty":"EC","kid":"ec-1","alg":"ES256","crv":"P-256","x":"vzTAPmOM_Rxmp\#
        a0Z5cvY1KlRtzn3C0d0eucfxeSrlwM","y":"ld5CvnvaF0VLZvh5zG4Bi4zlvymb9YpOUsNHlefrw2U","key_ops":["verify"]},{"kty":"OKP","ki\#
        d":"ed-1","crv":"Ed25519","x":"gvCkHnK9VIYu6wTZs5PYTf6ZrvWpbjFc1EtYVq7a5rU"}]}
        """#
    static let token = #"""
        eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImVjLTEifQ.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3N\#
        jcyMjU2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIsI\#
        nJvbGUiOiJhdXRoZW50aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoib\#
        3BlcmF0b3IifSwidXNlcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.0zCII9BGl34-lT4142sDKwpvGgr7GduzkjBGKOP_95qJhmMNWBsK0s9Pms\#
        kIdmkZTit72hgY4wukCXK6mrGGRg
        """#
}
