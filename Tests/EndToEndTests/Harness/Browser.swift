import Foundation

/// Makes requests over a `Wire`, each on a new connection.
struct Browser: Sendable {
    var port: Int
    var token: String?

    static let chatPath = "/functions/v1/chat-stream"

    /// Makes one request and reads the complete response.
    func send(
        _ method: String, _ path: String, body: [UInt8]? = nil, headers: [String: String] = [:], timeout: Int = 30
    ) async throws -> Answer {
        let head = self.head(method, path, bodyCount: body?.count, headers: headers)
        return try await Wire.run {
            let wire = try Wire(port: port, timeout: timeout)
            try wire.send(head + (body ?? []))
            return try wire.readAnswer(hasBody: method != "HEAD")
        }
    }

    /// `POST chat-stream` with a body that need not be valid.
    func post(_ body: String, headers: [String: String] = [:]) async throws -> Answer {
        try await send("POST", Self.chatPath, body: Array(body.utf8), headers: headers)
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
        return try receive(count: count + 2).dropLast(2)
    }

    /// A complete response, with either kind of length. `hasBody`: false for a response to HEAD, whatever its length.
    func readAnswer(hasBody: Bool = true) throws -> Answer {
        let start = ContinuousClock.now
        let (status, headers) = try readHead()
        let headAfter = ContinuousClock.now - start
        var pieces: [(bytes: [UInt8], after: Duration)] = []
        func take(_ bytes: [UInt8]) { pieces.append((bytes, ContinuousClock.now - start)) }
        if !hasBody {
        } else if headers["transfer-encoding"] == "chunked" {
            while case let chunk = try readChunk(), !chunk.isEmpty { take(chunk) }
        } else if let length = headers["content-length"].flatMap(Int.init) {
            take(try receive(count: length))
        } else if status != 204 && status != 304 {
            while case let chunk = try receive(), !chunk.isEmpty { take(chunk) }
        }
        return Answer(status: status, headers: headers, pieces: pieces, headAfter: headAfter, endAfter: ContinuousClock.now - start)
    }

    /// Reads a chunked event stream up to an event of that type; throws when it ends before.
    func read(untilEvent type: String) throws {
        var seen: [UInt8] = []
        let mark = "\"type\":\"\(type)\""
        while !String(decoding: seen, as: UTF8.self).contains(mark) {
            let chunk = try readChunk()
            guard !chunk.isEmpty else { throw Failure(description: "ended before \(type): \(String(decoding: seen, as: UTF8.self))") }
            seen += chunk
        }
    }
}
