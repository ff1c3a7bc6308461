import CoachCore
import Foundation
import HTTPEdge
import Identity
import OperatorAPI

extension GatewayConfiguration {
    /// Features of development, while only this machine can reach the gateway.
    func developmentFeatures() throws -> [any Feature] {
        guard environment == .development, listen.isLoopback, let jwtSecret else { return [] }
        let secret = try SharedSecret(jwtSecret)
        return [
            TryRoutes { user in
                try DevelopmentTokens.mint(
                    user: user, role: nil, ttl: .seconds(12 * 3600), secret: secret, audience: jwtAudience, issuer: jwtIssuer,
                    inProduction: false, now: Date())
            }
        ]
    }
}

extension ListenAddress {
    fileprivate var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
}
