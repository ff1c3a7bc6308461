import Foundation
import Synchronization

/// A TCP server on a free port of 127.0.0.1. Reads one request from every connection and executes the steps that the test returns for it.
final class ScriptedServer: Sendable {
    struct Request: Sendable {
        var method = ""
        var path = ""
        /// Names in lower case.
        var headers: [String: String] = [:]
        var body = ""
    }

    /// What a connection does, in order. It is closed at the end, unless the last step is `hold`.
    enum Step: Sendable {
        case send([UInt8])
        /// Sends nothing more until the client closes the connection, then calls the closure.
        case hold(@Sendable () -> Void = {})
        /// Closes with RST, as a failing network does.
        case reset
    }

    let url: URL
    private let descriptor: Int32
    private let seen = Mutex<[Request]>([])

    /// All requests so far, in order of arrival.
    var requests: [Request] { seen.withLock { $0 } }

    /// `script` is called on the connection's thread with the request and its number, counted from 0.
    init(_ script: @escaping @Sendable (Request, Int) -> [Step]) throws {
        let descriptor = socket(AF_INET, Self.stream, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        // SAFETY: the pointers are valid for the calls, and the sizes are those of the structure.
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 64) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard bound, let url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))") else {
            throw POSIXError(.EADDRINUSE)
        }
        self.descriptor = descriptor
        self.url = url
        // Ends when `stop` shuts the socket down.
        Thread.detachNewThread { [self] in
            while true {
                let client = accept(descriptor, nil, nil)
                if client < 0 { break }
                Thread.detachNewThread { [self] in serve(client, script) }
            }
            close(descriptor)
        }
    }

    func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    private func serve(_ client: Int32, _ script: (Request, Int) -> [Step]) {
        defer { close(client) }
        guard let request = Self.read(client) else { return }
        let number = seen.withLock { seen in
            seen.append(request)
            return seen.count - 1
        }
        for step in script(request, number) {
            switch step {
            case .send(let bytes):
                if send(client, bytes, bytes.count, Self.noSignal) < bytes.count { return }
            case .hold(let gone):
                var byte: UInt8 = 0
                while recv(client, &byte, 1, 0) > 0 {}
                gone()
                return
            case .reset:
                var now = linger(l_onoff: 1, l_linger: 0)
                setsockopt(client, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
                return
            }
        }
        // Reads what the client still sends: closing a socket with unread input would reset data on the way to the client.
        shutdown(client, Int32(SHUT_WR))
        var byte: UInt8 = 0
        while recv(client, &byte, 1, 0) > 0 {}
    }

    private static func read(_ client: Int32) -> Request? {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        func more() -> Bool {
            let count = recv(client, &chunk, chunk.count, 0)
            if count > 0 { bytes.append(contentsOf: chunk[..<count]) }
            return count > 0
        }
        let blankLine = Array("\r\n\r\n".utf8)
        var head = bytes.firstRange(of: blankLine)
        while head == nil {
            guard more() else { return nil }
            head = bytes.firstRange(of: blankLine)
        }
        guard let end = head else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        var request = Request()
        let words = lines[0].split(separator: " ")
        request.method = String(words[0])
        request.path = String(words[1])
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            request.headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        let length = request.headers["content-length"].flatMap { Int($0) } ?? 0
        while bytes.count < end.upperBound + length {
            guard more() else { return nil }
        }
        request.body = String(decoding: bytes[end.upperBound...], as: UTF8.self)
        return request
    }

    #if canImport(Darwin)
        private static let stream = SOCK_STREAM
        private static let noSignal: Int32 = 0
    #else
        private static let stream = Int32(SOCK_STREAM.rawValue)
        private static let noSignal = Int32(MSG_NOSIGNAL)
    #endif
}

extension ScriptedServer {
    /// The head of a stream that ends with the connection, so that a cut looks like a regular end.
    static let streamHead = Array("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n".utf8)

    static func response(_ status: String, headers: [String] = [], body: String) -> Step {
        let head = (["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)", "Connection: close"] + headers).joined(separator: "\r\n")
        return .send(Array("\(head)\r\n\r\n\(body)".utf8))
    }
}
