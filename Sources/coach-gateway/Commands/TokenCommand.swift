import ArgumentParser
import CoachCore
import Foundation
import Identity

/// `token`: a development token on standard output. Refuses in production.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "token", abstract: "Mint a development token (HS256, COACH_JWT_SECRET).")

    /// The roles as CONTRACT §1 names them.
    enum TokenRole: String, CaseIterable, ExpressibleByArgument {
        case authenticated, creator, `operator`
        var role: Role? { Role(rawValue: rawValue) }
    }

    @Option(help: "The user's UUID; a random one by default.")
    var user: String?
    @Option(help: "authenticated, creator or operator.")
    var role: TokenRole = .authenticated
    @Option(help: "Lifetime, such as 30s, 15m, 1h, 7d.")
    var ttl: String = "1h"
    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.load()
        guard configuration.environment == .development else {
            throw ValidationError("development tokens are refused with COACH_ENV=production; the users' project issues the real ones")
        }
        guard let secret = try configuration.jwtSecret.map({ try SharedSecret($0) }) else {
            throw ValidationError("COACH_JWT_SECRET is not set")
        }
        guard let id = user.map({ UserID(validating: $0) }) ?? .random() else { throw ValidationError("--user is not a UUID") }
        guard let lifetime = Self.duration(ttl) else { throw ValidationError("--ttl: '\(ttl)' is not a lifetime such as 30s, 15m, 1h, 7d") }
        let token = try DevelopmentTokens.mint(
            user: id, role: role.role, ttl: lifetime, secret: secret, audience: configuration.jwtAudience, issuer: configuration.jwtIssuer,
            inProduction: configuration.environment == .production, now: Date())
        Console.writeLine(token)
    }

    static func duration(_ text: String) -> Duration? {
        guard let unit = text.last, let count = Int(text.dropLast()), count > 0, count < 1_000_000 else { return nil }
        switch unit {
        case "s": return .seconds(count)
        case "m": return .seconds(count * 60)
        case "h": return .seconds(count * 3600)
        case "d": return .seconds(count * 86_400)
        default: return nil
        }
    }
}
