import Foundation
import Testing

@Suite("Intake of webhooks", .paced)
struct WebhookIntakeTests {
    private static let longest = 256 << 10

    private func stored(_ body: [UInt8], as id: String, _ status: String) async throws {
        let rows = try await WebhookGateway.stored(id)
        #expect(rows.map { $0["status"] } == [status])
        #expect(rows.first?["body"] == hexadecimal(body), "the stored bytes differ from those sent")
    }

    private func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Sends a body in chunks, so that its length is not announced.
    private func sendInChunks(_ body: [UInt8]) async throws -> Answer {
        let gateway = try await WebhookGateway.revenueCat.value.gateway
        let head = Browser(port: gateway.port).head(
            "POST", RevenueCatEvents.path, bodyCount: nil,
            headers: [
                "Transfer-Encoding": "chunked", "Authorization": WebhookGateway.authorization,
                RevenueCatEvents.defaultHeader: RevenueCatEvents.signature(body, secrets: [WebhookGateway.secret]),
            ])
        return try await Wire.run {
            let wire = try Wire(port: gateway.port)
            try wire.send(head)
            for start in stride(from: 0, to: body.count, by: 50_000) {
                let piece = body[start..<min(start + 50_000, body.count)]
                // The response may come, and the connection end, before everything was sent.
                try? wire.send(Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8))
            }
            try? wire.send("0\r\n\r\n")
            return try wire.readAnswer()
        }
    }

    @Test("a body of exactly 256 KiB is stored byte for byte, also one that is not UTF-8; one byte more is 413 and not stored")
    func longest() async throws {
        let gateway = try await WebhookGateway.revenueCat.value
        // Every byte value, and from test to test another body.
        let mark = Array(UUID().uuidString.utf8)
        let bytes = mark + (mark.count..<Self.longest).map { UInt8(truncatingIfNeeded: $0) }
        #expect(bytes.count == Self.longest && String(validating: bytes, as: UTF8.self) == nil)
        #expect(try await gateway.send(bytes).status == 200)
        try await stored(bytes, as: "sha256:" + hexadecimal(SHA256.hash(bytes)), "ignored")

        for isChunked in [false, true] {
            let (user, id) = (WebhookGateway.newUser(), UUID().uuidString)
            func send(_ body: [UInt8]) async throws -> Answer {
                isChunked ? try await sendInChunks(body) : try await gateway.send(body)
            }
            let event = try RevenueCatEvents.body("INITIAL_PURCHASE", user, id: id)
            let whole = event + Array(repeating: UInt8(ascii: " "), count: Self.longest - event.count)
            let refused = try await send(whole + [UInt8(ascii: " ")])
            #expect(refused.status == 413 && refused.errorCode == "VAL_3005", "\(refused.text)")
            #expect(try await WebhookGateway.stored(id).isEmpty)
            #expect(try await send(whole).status == 200)
            try await stored(whole, as: id, "folded")
            #expect(try await gateway.subscription(of: user)["status"] == "active")
        }
    }

    @Test("200 events that 20 connections send at once, each twice, are answered 200, and stored and folded once")
    func crowd() async throws {
        let gateway = try await WebhookGateway.revenueCat.value
        let run = UUID().uuidString.lowercased()
        let users = (0..<20).map { _ in WebhookGateway.newUser() }
        let now = RevenueCatEvents.now
        // Of each user a purchase and nine renewals, the last of which decides.
        let last = now + 19 * RevenueCatEvents.month
        let bodies = try users.enumerated().flatMap { index, user in
            try (0..<10).map { period in
                let start = now + Int64(period) * RevenueCatEvents.month
                return try RevenueCatEvents.body(
                    period == 0 ? "INITIAL_PURCHASE" : "RENEWAL", user, at: now + Int64(period),
                    until: period == 9 ? last : start + RevenueCatEvents.month, id: "\(run)-\(index)-\(period)",
                    ["transaction_id": "t-\(user)-\(period)"])
            }
        }.shuffled()
        #expect(bodies.count == 200)
        let statuses = try await withThrowingTaskGroup(of: [Int].self) { group in
            for connection in 0..<20 {
                // Two connections send the same events at the same time.
                let share = bodies[(connection % 10 * 20)..<(connection % 10 * 20 + 20)]
                group.addTask { try await send(Array(share), over: gateway.gateway.port) }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(statuses == Array(repeating: 200, count: 400))

        let stored = try await TestBed.shared().database.row(
            """
            select count(*)::integer as events, count(*) filter (where status = 'folded')::integer as folded,
                (select count(*)::integer from gateway.billing_figures where event_id like '\(run)-%') as figures
            from gateway.billing_events where event_id like '\(run)-%'
            """)
        #expect(stored.number("events") == 200 && stored.number("folded") == 200 && stored.number("figures") == 200, "\(stored.names)")
        let expiry = try await gateway.subscription(of: users[0])["expires_at"]
        #expect(expiry.map { $0 > Date(timeIntervalSinceNow: 500 * 86_400).ISO8601Format() } == true, "\(expiry ?? "none")")
        for user in users { #expect(try await gateway.subscription(of: user)["expires_at"] == expiry) }
    }

    /// Requests on one connection, each after the response to the one before.
    private func send(_ bodies: [[UInt8]], over port: Int) async throws -> [Int] {
        try await Wire.run {
            let wire = try Wire(port: port)
            return try bodies.map { body in
                let head = Browser(port: port).head(
                    "POST", RevenueCatEvents.path, bodyCount: body.count,
                    headers: [
                        "Authorization": WebhookGateway.authorization,
                        RevenueCatEvents.defaultHeader: RevenueCatEvents.signature(body, secrets: [WebhookGateway.secret]),
                    ])
                try wire.send(head + body)
                return try wire.readAnswer().status
            }
        }
    }
}
