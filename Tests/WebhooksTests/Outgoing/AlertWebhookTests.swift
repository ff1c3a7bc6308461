import Foundation
import HTTPTestServers
import JSON
import OutboundHTTP
import Testing

@testable import Webhooks

@Suite("Webhook for alerts")
struct AlertWebhookTests {
    @Test("an alert is sent under its id with a valid signature, and again until the receiver takes it")
    func deliver() async throws {
        let (receiver, client) = (try StoreAPI(), try OutboundHTTPClient(OutboundConfiguration()))
        defer { client.shutDown() }
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        let webhook = AlertWebhook(url: receiver.url + "/alerts", secret: "whsec_test", client: client, now: { now })
        let alert: JSONValue = .object([.init("id", .integer(7)), .init("rule", "errors"), .init("state", "firing")])
        await #expect(throws: StoreClientError.self) { try await webhook.deliver(alert, id: "7/firing") }
        try await receiver.answer("/alerts", status: 204, "")
        try await webhook.deliver(alert, id: "7/firing")
        let requests = try await receiver.requests()
        #expect(requests.count == 2)
        for request in requests {
            #expect(request.method == "POST" && request.headers["x-webhook-id"] == "7/firing")
            #expect(request.body == #"{"type":"alert","data":{"id":7,"rule":"errors","state":"firing"}}"#)
            #expect(
                WebhookSignature(secrets: ["whsec_test"]).isValid(
                    header: request.headers["x-webhook-signature"], body: Array(request.body.utf8), unixSeconds: 1_700_000_000))
        }
    }
}
