import Foundation
import HTTPTestServers
import TestSupport
import Testing
import WebhookTestSupport

/// The key set of the tokens' issuer, at a URL.
@Suite("An issuer's key set", .paced)
struct IssuerTests {
    private let issuer: StoreAPI
    private let keys = PushTokens()

    init() async throws {
        issuer = try StoreAPI()
        try await issuer.answer("/keys", status: 503, "")
    }

    /// A gateway that cannot load the key set yet. In production, where loopback has a limit, too.
    private func gateway(_ environment: [String: String]) async throws -> Gateway {
        let root = try Folder.copyOfRoot()
        try root.edit("deploy/tiers.json") { $0["unauthenticated_requests_per_minute"] = 3 }
        let testBed = try await TestBed.shared()
        let gateway = try await Gateway(
            database: testBed.database.gatewayURL, simulator: testBed.simulator.url,
            environment: [
                "COACH_ENV": "production", "COACH_ROOT": root.path, "COACH_JWKS_URL": issuer.url + "/keys",
                "COACH_METRICS_LISTEN": "127.0.0.1:0",
            ].merging(environment) { $1 }, untilReady: false)
        try await eventually("the first load in\n\(gateway.program.output)") {
            gateway.log.contains { $0["job"] == "key set of COACH_JWKS_URL" && $0["error"] == "the key set's server answered 503" }
        }
        return gateway
    }

    /// Requests a user's resource with a token that a key of the issuer has signed.
    private func request(_ gateway: Gateway) async throws -> Answer {
        let claims: [String: String?] = [
            "aud": #""authenticated""#, "role": #""authenticated""#, "sub": "\"\(UUID().uuidString.lowercased())\"",
        ]
        let header = keys.header(claims, at: Int(Date().timeIntervalSince1970))
        return try await Browser(port: gateway.port).send("GET", "/api/v1/conversations", headers: ["Authorization": header])
    }

    @Test("until it is loaded an instance is not ready and asks users to try again; then an unknown key is rejected")
    func notLoaded() async throws {
        let gateway = try await gateway(["COACH_JWT_SECRET": ""])
        let metrics = Browser(port: try await gateway.metricsPort())
        // Everything else is ready.
        try await eventually("readiness but for the keys") {
            let answer = try await metrics.send("GET", "/readyz")
            return answer.json.flag("database") == true && answer.json.flag("writing") == true && answer.json.flag("keys") == false
                && answer.headers["retry-after"] == "1"
        }
        let unready = try await Browser(port: gateway.port).send("GET", "/readyz")
        #expect(unready.status == 503 && unready.headers["retry-after"] == "1")
        // More than the limit of an address: they do not count.
        for _ in 0..<5 {
            let answer = try await request(gateway)
            #expect(answer.status == 503 && answer.errorCode == "SYS_5001" && answer.headers["retry-after"] == "5", "\(answer.text)")
            #expect(answer.error["action"] == "retry")
        }
        #expect(try await Browser(port: gateway.port).send("GET", "/api/v1/resources?country=DE").status == 200)

        try await issuer.answer("/keys", keys.keys)
        try await gateway.waitUntilReady()
        #expect(try await request(gateway).status == 200)
        var statuses: [Int] = []
        for _ in 0..<4 { statuses.append(try await unknownKey(gateway).status) }
        #expect(statuses == [401, 401, 401, 429])
    }

    /// Requests a user's resource with a token whose `kid` the set does not have.
    private func unknownKey(_ gateway: Gateway) async throws -> Answer {
        var token = Token(user: UUID().uuidString.lowercased())
        token.header = ["alg": "ES256", "kid": "unknown"]
        return try await Browser(port: gateway.port, token: token.text).send("GET", "/api/v1/conversations")
    }

    @Test("beside a secret it need not be loaded: users with HS256 tokens are served, others are asked to try again")
    func secret() async throws {
        let gateway = try await gateway([:])
        try await gateway.waitUntilReady()
        #expect(try await gateway.testUser().browser.send("GET", "/api/v1/conversations").status == 200)
        #expect(try await request(gateway).status == 503)
    }
}
