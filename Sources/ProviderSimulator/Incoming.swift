import NIOCore
import NIOHTTP1

/// A request that was received in full.
struct Incoming {
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

/// What a route gives back.
enum Reply {
    /// Known in full, sent at once.
    case fixed(FixedVoice)
    /// Played in time, and in the journal.
    case performed(Performance)

    static func json(_ value: JSONValue, status: Int = 200) -> Reply {
        .fixed(FixedVoice(status: status, headers: [("content-type", "application/json")], body: value.bytes))
    }
}
