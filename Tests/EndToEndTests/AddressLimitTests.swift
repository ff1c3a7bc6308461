import Foundation
import Testing

@Suite("Limits of addresses", .paced)
struct AddressLimitTests {
    /// A gateway in production mode, which limits loopback too; loopback is a trusted proxy.
    private static let proxied = Task { try await gateway(["COACH_TRUSTED_PROXIES": "127.0.0.0/8", "COACH_ENV": "production"]) }

    private static func gateway(_ environment: [String: String]) async throws -> Gateway {
        let root = try Folder.copyOfRoot()
        try root.edit("deploy/tiers.json") { $0["unauthenticated_requests_per_minute"] = 3 }
        let environment = environment.merging(["COACH_ROOT": root.path, "STRIPE_WEBHOOK_SECRET": "whsec_test"]) { own, _ in own }
        return try await TestBed.shared().anotherGateway(environment)
    }

    private func statuses(
        _ gateway: Gateway, _ path: String = "/api/v1/conversations", from client: String, method: String = "GET", times: Int = 4
    ) async throws -> [Int] {
        var statuses: [Int] = []
        for _ in 0..<times {
            let answer = try await Browser(port: gateway.port).send(
                method, path, body: method == "GET" ? nil : [], headers: ["X-Forwarded-For": client])
            if answer.status == 429 { #expect(answer.errorCode == "BIZ_2010" && answer.headers["retry-after"] != nil) }
            statuses.append(answer.status)
        }
        return statuses
    }

    @Test("requests without a valid token are limited by address; users with the same address and health checks are not")
    func unauthenticated() async throws {
        let gateway = try await Self.proxied.value
        let client = "198.51.100.1"
        #expect(try await statuses(gateway, from: client) == [401, 401, 401, 429])
        #expect(try await statuses(gateway, "/openapi.json", from: client, times: 1) == [429])
        #expect(try await statuses(gateway, "/nowhere", from: client, times: 1) == [429])
        #expect(try await statuses(gateway, "/healthz", from: client) == [200, 200, 200, 200])
        // Nobody in danger is turned away.
        for path in ["/api/v1/resources?country=DE", "/.well-known/safety-protocol"] {
            #expect(try await statuses(gateway, path, from: client) == [200, 200, 200, 200])
        }
        #expect(try await statuses(gateway, "/p/unknown", from: "203.0.113.77") == [404, 404, 404, 429])
        let user = try await gateway.testUser().browser.send("GET", "/api/v1/conversations", headers: ["X-Forwarded-For": client])
        #expect(user.status == 200 && user.headers["ratelimit-policy"] == #""user";q=600;w=60"#)
        #expect(user.headers["ratelimit"]?.hasPrefix(#""user";r=599;t="#) == true)
        #expect(try await statuses(gateway, from: "198.51.100.2", times: 1) == [401])
        // All from one /64 network.
        #expect(try await statuses(gateway, from: "2001:db8:0:7::1", times: 2) == [401, 401])
        #expect(try await statuses(gateway, from: "2001:db8:0:7:8::9", times: 2) == [401, 429])
        #expect(try await statuses(gateway, from: "2001:db8:0:8::1", times: 1) == [401])
        // An entry that the client puts before the proxy's is ignored.
        #expect(try await statuses(gateway, from: "192.0.2.200, 198.51.100.1", times: 1) == [429])
    }

    @Test("cookies of no session are limited by address, on the dashboard's pages and at its sign-out too; its form to sign in is not")
    func cookies() async throws {
        let browser = Browser(port: try await Self.proxied.value.port)
        func answers(_ path: String, _ client: String, method: String = "GET", hasCookie: Bool = true) async throws -> [Int] {
            var statuses: [Int] = []
            for number in 0..<4 {
                let token = Data(repeating: UInt8(number), count: 48).base64EncodedString()
                let cookie = hasCookie ? ["Cookie": "coach_operator=\(token)"] : [:]
                let headers = ["X-Forwarded-For": client, "Origin": "https://127.0.0.1:\(browser.port)"]
                let answer = try await browser.send(method, path, headers: headers.merging(cookie) { $1 })
                if answer.status == 429 { #expect(answer.errorCode == "BIZ_2010" && answer.headers["retry-after"] != nil) }
                statuses.append(answer.status)
            }
            return statuses
        }
        #expect(try await answers("/api/v1/operator/costs", "198.51.100.20") == [401, 401, 401, 429])
        #expect(try await answers("/operator", "198.51.100.21") == [200, 200, 200, 429])
        #expect(try await answers("/operator/costs", "198.51.100.22") == [200, 200, 200, 429])
        #expect(try await answers("/operator/session", "198.51.100.23", method: "DELETE") == [204, 204, 204, 429])
        #expect(try await answers("/operator", "198.51.100.22", hasCookie: false) == [200, 200, 200, 200])
    }

    @Test("unverified webhooks are limited by address, verified ones are not")
    func webhooks() async throws {
        let gateway = try await Self.proxied.value
        let (client, path) = ("198.51.100.9", "/functions/v1/webhook-stripe")
        #expect(try await statuses(gateway, path, from: client, method: "POST") == [401, 401, 401, 429])
        let body = Array(#"{"id":"evt_\#(UUID())","type":"x"}"#.utf8)
        let time = Int(Date().timeIntervalSince1970)
        let code = SHA256.hmac(key: Array("whsec_test".utf8), message: Array("\(time).".utf8) + body)
        let signature = code.map { String(format: "%02x", $0) }.joined()
        for _ in 0..<4 {
            let answer = try await Browser(port: gateway.port).send(
                "POST", path, body: body, headers: ["X-Forwarded-For": client, "Stripe-Signature": "t=\(time),v1=\(signature)"])
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    @Test("a PROXY header gives the client's address, also in pieces; it is optional, and a malformed one ends the connection")
    func proxyProtocol() async throws {
        let port = try await Self.proxied.value.port
        let browser = Browser(port: port)
        let request = browser.head("GET", "/api/v1/conversations", bodyCount: nil)
        @Sendable func status(_ header: [UInt8], inPieces: Bool = false) async throws -> Int {
            try await Wire.run {
                let wire = try Wire(port: port)
                if inPieces { for byte in header { try wire.send([byte]) } } else { try wire.send(header) }
                try wire.send(request)
                return try wire.readAnswer().status
            }
        }
        let one = Array("PROXY TCP4 198.51.100.50 127.0.0.1 4711 80\r\n".utf8)
        let two: [UInt8] =
            [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A, 0x21, 0x11, 0, 12]
            + [198, 51, 100, 50, 127, 0, 0, 1, 0x12, 0x67, 0, 80]
        #expect(try await status(one) == 401)
        #expect(try await status(two, inPieces: true) == 401)
        #expect(try await status(one, inPieces: true) == 401)
        #expect(try await status(two) == 429)
        let (user, token) = (try await Self.proxied.value.testUser(), "a turn of a proxied connection")
        let body = try TestUser.body("\(token) \(sim(["words": 2]))")
        let turn = user.browser.head("POST", Browser.chatPath, bodyCount: body.count) + body
        let answer = try await Wire.run {
            let wire = try Wire(port: port)
            try wire.send(two + turn)
            return try wire.readAnswer()
        }
        expectDone(answer)
        let isClosed = try await Wire.run {
            let wire = try Wire(port: port)
            try wire.send("PROXY nonsense\r\n")
            return try wire.receive().isEmpty
        }
        #expect(isClosed)
    }

    @Test("without trusted proxies all proxy headers are ignored; in development loopback has no limit")
    func untrusted() async throws {
        let production = try await Self.gateway(["COACH_ENV": "production"])
        var statuses: [Int] = []
        for number in 0..<4 { statuses += try await self.statuses(production, from: "198.51.100.\(number)", times: 1) }
        #expect(statuses == [401, 401, 401, 429])
        let header = try await Wire.run {
            let wire = try Wire(port: production.port)
            try wire.send("PROXY TCP4 198.51.100.50 127.0.0.1 4711 80\r\n")
            return try wire.readAnswer().status
        }
        #expect(header == 400)
        let development = try await Self.gateway(["COACH_ENV": "development"])
        #expect(try await self.statuses(development, from: "198.51.100.1", times: 8).allSatisfy { $0 == 401 })
    }
}
