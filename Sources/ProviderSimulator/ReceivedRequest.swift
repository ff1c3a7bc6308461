import JSON
import NIOCore
import NIOHTTP1

/// A completely received HTTP request.
struct ReceivedRequest {
    let method: String
    let path: String
    let query: [Substring: Substring]
    let headers: HTTPHeaders
    let body: [UInt8]

    init(head: HTTPRequestHead, body: ByteBuffer) {
        let parts = head.uri.split(separator: "?", maxSplits: 1)
        method = head.method.rawValue
        path = parts.first.map(String.init) ?? "/"
        let pairs = parts.count > 1 ? parts[1].split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) } : []
        query = Dictionary(pairs.filter { $0.count == 2 }.map { ($0[0], $0[1]) }) { _, last in last }
        headers = head.headers
        self.body = Array(body.readableBytesView)
    }
}

/// The response of a route.
enum Reply {
    /// Sent at once, and not recorded in the journal.
    case fixed(FixedResponse)
    /// Sent step by step with pauses, and recorded in the journal.
    case scripted(ScriptedResponse)

    static func json(_ value: JSONValue, status: Int = 200) -> Reply {
        .fixed(FixedResponse(status: status, headers: [("content-type", "application/json")], body: value.bytes))
    }
}
