import Foundation

/// An HTTP/1.1 answer as it came over the wire.
struct Answer: Sendable {
    var status: Int
    /// Names in lower case.
    var headers: [String: String]
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }
    /// The body as a JSON object; empty when it is none.
    var json: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:] }
    /// `error.code` of an envelope.
    var errorCode: String? { (json["error"] as? [String: Any])?["code"] as? String }
    /// The events of an event stream.
    var events: [Event] { Event.parse(text) }
}

/// One server-sent event of the gateway, read the plain way, line by line.
struct Event: Sendable {
    var id: String?
    var data: String
    var object: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(data.utf8))) as? [String: Any] ?? [:] }
    var type: String { object["type"] as? String ?? "" }
    var isLast: Bool { object["done"] as? Bool ?? false }
    subscript(key: String) -> Any? { object[key] }

    static func parse(_ text: String) -> [Event] {
        text.components(separatedBy: "\n\n").compactMap(Event.init(block:))
    }

    init?(block: String) {
        var id: String?
        var data: String?
        for line in block.components(separatedBy: "\n") {
            if line.hasPrefix("id: ") { id = String(line.dropFirst(4)) }
            if line.hasPrefix("data: ") { data = String(line.dropFirst(6)) }
        }
        guard let data else { return nil }
        self.id = id
        self.data = data
    }
}

extension [Event] {
    /// The answer's text: all tokens joined.
    var content: String { compactMap { $0.type == "token" ? $0["content"] as? String : nil }.joined() }
    func first(_ type: String) -> Event? { first { $0.type == type } }
}

/// Makes requests over a `Wire`.
struct Browser: Sendable {
    var port: Int
    var token: String?

    /// One request on a connection of its own; reads to the end of the answer.
    func send(
        _ method: String, _ path: String, body: [UInt8]? = nil, headers: [String: String] = [:], timeout: Int = 20
    ) async throws -> Answer {
        let head = self.head(method, path, bodyCount: body?.count, headers: headers)
        return try await Wire.run {
            let wire = try Wire(port: port, timeout: timeout)
            try wire.send(head + (body ?? []))
            return try wire.readAnswer()
        }
    }

    func chat(_ message: String, _ more: [String: Any] = [:], headers: [String: String] = [:], timeout: Int = 20) async throws -> Answer {
        var object = more
        object["message"] = message
        let body = try JSONSerialization.data(withJSONObject: object)
        return try await send("POST", "/functions/v1/chat-stream", body: Array(body), headers: headers, timeout: timeout)
    }

    func head(_ method: String, _ path: String, bodyCount: Int?, headers: [String: String] = [:]) -> [UInt8] {
        var lines = ["\(method) \(path) HTTP/1.1", "Host: 127.0.0.1:\(port)"]
        if let token, headers["Authorization"] == nil { lines.append("Authorization: Bearer \(token)") }
        for (name, value) in headers { lines.append("\(name): \(value)") }
        if let bodyCount { lines.append("Content-Length: \(bodyCount)") }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }
}

extension Wire {
    /// Status and headers.
    func readHead() throws -> (status: Int, headers: [String: String]) {
        let lines = String(decoding: try receive(until: "\r\n\r\n"), as: UTF8.self).components(separatedBy: "\r\n")
        let parts = lines[0].split(separator: " ")
        guard parts.count >= 2, let status = Int(parts[1]) else { throw Failure(description: "no status line: \(lines[0])") }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        return (status, headers)
    }

    /// The next chunk of a chunked body; empty at its end.
    func readChunk() throws -> [UInt8] {
        let size = String(decoding: try receive(until: "\r\n"), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard let count = Int(size, radix: 16) else { throw Failure(description: "no chunk size: \(size)") }
        let bytes = try receive(count: count + 2)
        return Array(bytes.dropLast(2))
    }

    /// A whole answer, with either kind of length.
    func readAnswer() throws -> Answer {
        let (status, headers) = try readHead()
        var body: [UInt8] = []
        if headers["transfer-encoding"] == "chunked" {
            while case let chunk = try readChunk(), !chunk.isEmpty { body += chunk }
        } else if let length = headers["content-length"].flatMap(Int.init) {
            body = try receive(count: length)
        } else if status != 204 && status != 304 {
            while case let chunk = try receive(), !chunk.isEmpty { body += chunk }
        }
        return Answer(status: status, headers: headers, body: body)
    }
}
