import Foundation
import Testing

/// An HTTP/1.1 response as received, with the time at which each part arrived.
struct Answer: Sendable {
    var status: Int
    /// Names in lower case.
    var headers: [String: String]
    var body: [UInt8]
    /// From the request's last byte to the end of the head.
    var headAfter: Duration
    /// From the request's last byte to the response's last byte.
    var endAfter: Duration
    /// The events of an event stream; empty for other responses.
    var events: [Event]
    /// When each `: ping` arrived.
    var pings: [Duration]

    var text: String { String(decoding: body, as: UTF8.self) }
    /// The body as a JSON object; empty when it is not one.
    var json: JSONObject { JSONObject(Data(body)) }
    /// `error` of an envelope.
    var error: JSONObject { json.object("error") }
    /// `error.code` of an envelope.
    var errorCode: String? { error["code"] }
    /// The text of all tokens.
    var content: String { events.content }
    /// The types of the events, with consecutive tokens as one.
    var eventTypes: [String] { events.types }

    func first(_ type: String) -> Event? { events.first { $0.type == type } }

    init(
        status: Int, headers: [String: String], pieces: [(bytes: [UInt8], after: Duration)], headAfter: Duration, endAfter: Duration
    ) {
        self.status = status
        self.headers = headers
        self.headAfter = headAfter
        self.endAfter = endAfter
        body = pieces.flatMap(\.bytes)
        let blocks = headers["content-type"]?.hasPrefix("text/event-stream") == true ? Self.blocks(pieces) : []
        events = blocks.compactMap { Event(block: $0.text, arrivedAfter: $0.after) }
        pings = blocks.filter { $0.text == ": ping" }.map(\.after)
    }

    /// A block between empty lines, with the time at which its end arrived.
    private static func blocks(_ pieces: [(bytes: [UInt8], after: Duration)]) -> [(text: String, after: Duration)] {
        var blocks: [(String, Duration)] = []
        var block: [UInt8] = []
        for (bytes, after) in pieces {
            for byte in bytes {
                block.append(byte)
                guard byte == 0x0A, block.count > 1, block[block.count - 2] == 0x0A else { continue }
                blocks.append((String(decoding: block.dropLast(2), as: UTF8.self), after))
                block = []
            }
        }
        return blocks
    }
}

/// One server-sent event, parsed line by line, independent of the product's parser.
struct Event: Sendable {
    var id: String?
    var data: String
    var arrivedAfter: Duration
    var type: String

    var fields: JSONObject { JSONObject(data) }
    var isLast: Bool { fields.flag("done") ?? false }
    subscript(name: String) -> String? { fields[name] }

    /// Nil for a block without data, such as a comment.
    init?(block: String, arrivedAfter: Duration) {
        var id: String?
        var data: String?
        for line in block.components(separatedBy: "\n") {
            if line.hasPrefix("id: ") { id = String(line.dropFirst(4)) }
            if line.hasPrefix("data: ") { data = String(line.dropFirst(6)) }
        }
        guard let data else { return nil }
        self.init(id: id, data: data, arrivedAfter: arrivedAfter)
    }

    private init(id: String?, data: String, arrivedAfter: Duration) {
        self.id = id
        self.data = data
        self.arrivedAfter = arrivedAfter
        type = JSONObject(data)["type"] ?? ""
    }
}

extension [Event] {
    var content: String { compactMap { $0.type == "token" ? $0["content"] : nil }.joined() }
    /// With consecutive tokens as one.
    var types: [String] {
        map(\.type).reduce(into: []) { types, type in if type != "token" || types.last != "token" { types.append(type) } }
    }
}

/// Checks that the answer was streamed to its end, and reports what was received otherwise.
func expectDone(_ answer: Answer, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(answer.eventTypes.last == "done", "\(answer.status): \(answer.text)", sourceLocation: sourceLocation)
}
