import Foundation
import Testing

@Suite("Signatures of webhooks", .paced)
struct WebhookSignatureTests {
    private static let header = "X-Coach-Signature"

    private enum Outcome: Equatable {
        /// 200, and stored.
        case taken
        /// 401, and not stored.
        case rejected
        case other(Int, isStored: Bool)
    }

    /// Sends a new event with headers for its body.
    private func send(_ headers: ([UInt8]) -> [String: String]) async throws -> Outcome {
        let id = UUID().uuidString
        let body = try RevenueCatEvents.body("INITIAL_PURCHASE", WebhookGateway.newUser(), id: id)
        let answer = try await WebhookGateway.allStores.value.send(body, headers: headers(body))
        return switch (answer.status, try await WebhookGateway.stored(id).count == 1) {
        case (200, true): .taken
        case (401, false): .rejected
        case (let status, let isStored): .other(status, isStored: isStored)
        }
    }

    private func signed(_ secrets: String..., after seconds: Int64 = 0) async throws -> Outcome {
        try await send { [Self.header: RevenueCatEvents.signature($0, secrets: secrets, at: RevenueCatEvents.now / 1000 + seconds)] }
    }

    @Test("the configured header has the signature, in any case of letters; the default header is not read")
    func header() async throws {
        for name in [Self.header, Self.header.lowercased()] {
            #expect(try await send { [name: RevenueCatEvents.signature($0, secrets: [WebhookGateway.secret])] } == .taken)
        }
        let other = try await send { [RevenueCatEvents.defaultHeader: RevenueCatEvents.signature($0, secrets: [WebhookGateway.secret])] }
        #expect(other == .rejected)
        // Without a configured `Authorization`, one is not looked at, and does not replace the signature.
        #expect(try await send { _ in ["Authorization": WebhookGateway.authorization] } == .rejected)
    }

    @Test("during a rotation the old and the new secret are valid, alone or together; a retired one is not")
    func rotation() async throws {
        #expect(try await signed("old-secret") == .taken)
        #expect(try await signed(WebhookGateway.secret) == .taken)
        #expect(try await signed("old-secret", WebhookGateway.secret) == .taken)
        #expect(try await signed("retired", WebhookGateway.secret) == .taken)
        #expect(try await signed("retired") == .rejected)
        #expect(try await signed("retired", "other") == .rejected)
        #expect(try await signed() == .rejected)
    }

    @Test("a time stamp may differ by 300 s in both directions, and is part of what is signed")
    func tolerance() async throws {
        // Half a minute for a slow machine where time works against the test.
        #expect(try await signed(WebhookGateway.secret, after: -270) == .taken)
        #expect(try await signed(WebhookGateway.secret, after: 299) == .taken)
        #expect(try await signed(WebhookGateway.secret, after: -301) == .rejected)
        #expect(try await signed(WebhookGateway.secret, after: 330) == .rejected)
        let renewed = try await send { body in
            let seconds = RevenueCatEvents.now / 1000
            let old = RevenueCatEvents.signature(body, secrets: [WebhookGateway.secret], at: seconds - 1000)
            return [Self.header: old.replacing("t=\(seconds - 1000)", with: "t=\(seconds)")]
        }
        #expect(renewed == .rejected)
    }

    @Test("without any authentication the route answers 503 with Retry-After, and check says so: in production it fails")
    func unconfigured() async throws {
        let testBed = try await TestBed.shared()
        let id = UUID().uuidString
        let body = try RevenueCatEvents.body("INITIAL_PURCHASE", WebhookGateway.newUser(), id: id)
        for gateway in [testBed.gateway, try await WebhookGateway.playAlone.value.gateway] {
            let answer = try await WebhookGateway(gateway: gateway).send(body)
            #expect(answer.status == 503 && answer.headers["retry-after"].flatMap { Int($0) } ?? 0 > 0, "\(answer.text)")
        }
        #expect(try await WebhookGateway.stored(id).isEmpty)

        let notice = "webhook-revenuecat answers 503"
        func check(_ changes: [String: String]) async throws -> (status: Int32, output: String) {
            let environment = Gateway.environment(database: testBed.database.gatewayURL, simulator: testBed.simulator.url)
            return try await Program.run(["check"], environment: environment.merging(changes) { $1 })
        }
        let development = try await check([:])
        #expect(development.status == 0 && development.output.contains(notice), "\(development.output)")
        let production = try await check(["COACH_ENV": "production"])
        #expect(production.status != 0 && production.output.contains(notice), "\(production.output)")
        for configured in [["REVENUECAT_WEBHOOK_AUTH": "Bearer x"], ["REVENUECAT_WEBHOOK_HMAC_SECRET": "x"]] {
            #expect(try await !check(configured).output.contains(notice))
        }
        let unfit = try await check(["REVENUECAT_WEBHOOK_HMAC_SECRET": "x", "REVENUECAT_WEBHOOK_SIGNATURE_HEADER": "not a name"])
        #expect(unfit.status != 0 && unfit.output.contains("REVENUECAT_WEBHOOK_SIGNATURE_HEADER"), "\(unfit.output)")
    }
}
