import JSON
import OutboundHTTP
import Testing

@testable import Webhooks

@Suite("StoreClient")
struct StoreClientTests {
    @Test(
        "after a 429 no request is sent for the time that it names in any form, within bounds, and for a minute when that cannot be read",
        arguments: [
            (nil, 1), ("0", 1), ("7", 7), ("2.0", 2), ("Fri, 20 Nov 2026 18:32:15 GMT", 30), ("Friday, 20-Nov-26 18:32:15 GMT", 30),
            ("Fri, 20 Nov 2026 18:00:00 GMT", 1), ("86400", 600), ("soon", 60), ("-1", 60),
        ] as [(String?, Int)])
    func hold(_ value: String?, _ seconds: Int) throws {
        let now = try #require(Timestamp(rfc3339: "2026-11-20T18:00:00Z"))
        let headers = [HTTPHeader("date", "Fri, 20 Nov 2026 18:31:45 GMT")] + (value.map { [HTTPHeader("retry-after", $0)] } ?? [])
        #expect(StoreClient.hold(after: OutboundResponseHead(status: 429, headers: headers), now: now) == .seconds(seconds))
    }
}
