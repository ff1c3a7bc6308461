import CoachCore
import Foundation
import JSON
import OutboundHTTP

/// Sends an alert to another server, by a signed POST request. Where it throws, the caller tries again with the same id (`X-Webhook-Id`), so the
/// receiver may get an alert more than once.
public struct AlertWebhook: Sendable {
    /// `t=<unix seconds>,v1=<hex>`, the HMAC-SHA256 of `"{t}.{raw body}"`.
    static let signatureHeader = "X-Webhook-Signature"
    static let idHeader = "X-Webhook-Id"

    private let url: String
    private let signature: WebhookSignature
    private let client: OutboundHTTPClient
    private let now: @Sendable () -> Date

    public init(url: String, secret: String, client: OutboundHTTPClient, now: @escaping @Sendable () -> Date = { Date() }) {
        self.url = url
        signature = WebhookSignature(secrets: [secret])
        self.client = client
        self.now = now
    }

    /// `id`: the same for every attempt. Throws when the receiver does not answer with a status from 200 to 299: then it is to be tried again.
    public func deliver(_ alert: JSONValue, id: String) async throws {
        let body: JSONValue = .object([.init("type", "alert"), .init("data", alert)])
        var request = OutboundRequest(.post, url: url, body: body.bytes)
        request.headers = [
            .init("Content-Type", "application/json"), .init(Self.idHeader, id),
            .init(Self.signatureHeader, signature.header(of: body.bytes, unixSeconds: Int64(now().timeIntervalSince1970))),
        ]
        request.mayBeSentTwice = true
        let response = try await client.send(request)
        guard (200...299).contains(response.status) else { throw StoreClientError.temporary("the server answered \(response.status)") }
    }
}
