import CoachCore
import Foundation
import Testing

@testable import Identity

@Suite("Development tokens")
struct DevelopmentTokenTests {
    private let user = UserID(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))

    private func mint(_ role: Role?, ttl: Duration = .seconds(3600), inProduction: Bool = false) throws -> String {
        try DevelopmentTokens.mint(
            user: user, role: role, ttl: ttl, secret: Forge.secret, issuer: Forge.issuer, inProduction: inProduction, now: Forge.now)
    }

    @Test("the gateway accepts a created token with its role and lifetime", arguments: [nil, .creator, .operator] as [Role?])
    func accepted(role: Role?) throws {
        let caller = try Forge.verifier.verify("Bearer \(mint(role, ttl: .seconds(90)))", now: Forge.now)
        #expect(caller.userID == user)
        #expect(caller.role == role)
        #expect(caller.expiresAt == Forge.now.addingTimeInterval(90))
    }

    @Test("no token is created in production")
    func production() {
        #expect(throws: DevelopmentTokens.CreationError.production) { try mint(.operator, inProduction: true) }
    }

    @Test(
        "a lifetime is at least a second and at most a year",
        arguments: [.zero, .seconds(-5), .milliseconds(999), .seconds(367 * 86_400)] as [Duration])
    func lifetime(ttl: Duration) {
        #expect(throws: DevelopmentTokens.CreationError.lifetime) { try mint(nil, ttl: ttl) }
    }

    @Test("audience and issuer may contain any text")
    func anyText() throws {
        let policy = TokenPolicy(audience: "a\"b\\c", issuer: "x\n\"y")
        let token = try DevelopmentTokens.mint(
            user: user, role: nil, ttl: .seconds(60), secret: Forge.secret, audience: "a\"b\\c", issuer: "x\n\"y", inProduction: false,
            now: Forge.now)
        let verifier = TokenVerifier(policy: policy, secret: Forge.secret, keySet: nil)
        #expect(throws: Never.self) { try verifier.verify("Bearer \(token)", now: Forge.now) }
    }
}
