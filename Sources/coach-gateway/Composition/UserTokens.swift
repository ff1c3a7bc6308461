import Identity
import Logging
import OutboundHTTP
import ServiceLifecycle

/// The verification of users' tokens.
struct UserTokens {
    let verifier: TokenVerifier
    /// Loads the key set, where one is configured.
    let keyServices: [any Service]

    /// Throws for a secret or the URL of a key set that cannot be used.
    init(_ configuration: GatewayConfiguration, outbound: OutboundHTTPClient, logger: Logger) throws {
        let keySet = try configuration.userKeys(outbound)?.keySet(logger: logger)
        verifier = TokenVerifier(
            policy: TokenPolicy(audience: configuration.jwtAudience, issuer: configuration.jwtIssuer),
            secret: try configuration.jwtSecret.map { try SharedSecret($0) }, keySet: keySet?.keys)
        keyServices = keySet.map { [$0.job] } ?? []
    }
}
