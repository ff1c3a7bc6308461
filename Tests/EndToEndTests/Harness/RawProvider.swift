import Foundation
import Glibc
import Synchronization

/// A provider on loopback whose responses are whatever bytes a test sends. One thread for each connection.
final class RawProvider: Sendable {
    let port: Int
    private let listener: Int32
    private let received = Received()

    var url: String { "http://127.0.0.1:\(port)/v1" }

    /// Heads and bodies of the requests so far.
    var requests: [String] { received.requests.withLock { $0 } }

    /// Connections whose client has not been answered to its end.
    var open: Int { received.open.load(ordering: .relaxed) }

    private final class Received: Sendable {
        let requests = Mutex<[String]>([])
        let open = Atomic(0)
    }

    /// - Parameter respond: called with the request of each connection, which is closed when it returns.
    init(_ respond: @escaping @Sendable (_ request: String, _ connection: Connection) -> Void) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 1024) == 0 && getsockname(listener, address, &length) == 0
            }
        }
        guard isListening else { throw Program.Failure(description: "no port for a provider") }
        self.listener = listener
        port = Int(UInt16(bigEndian: address.sin_port))
        let received = received
        Thread.detachNewThread {
            while case let descriptor = accept(listener, nil, nil), descriptor >= 0 {
                received.open.add(1, ordering: .relaxed)
                Thread.detachNewThread {
                    let connection = Connection(descriptor: descriptor)
                    if let request = connection.request() {
                        received.requests.withLock { $0.append(request) }
                        respond(request, connection)
                    }
                    close(descriptor)
                    received.open.subtract(1, ordering: .relaxed)
                }
            }
            // Here and not in deinit: the number may then be another listener's, and this thread would accept for it.
            close(listener)
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// The provider's side of a connection; blocking.
    struct Connection {
        fileprivate let descriptor: Int32

        static let streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

        /// nil when the client has closed the connection before the end of its request.
        fileprivate func request() -> String? {
            var bytes: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let text = String(decoding: bytes, as: UTF8.self)
                if let head = text.firstRange(of: "\r\n\r\n") {
                    let length = text[..<head.lowerBound].firstMatch(of: /(?i)content-length: *([0-9]+)/).flatMap { Int($0.1) } ?? 0
                    if text[head.upperBound...].utf8.count >= length { return text }
                }
                let count = recv(descriptor, &chunk, chunk.count, 0)
                guard count > 0 else { return nil }
                bytes += chunk[..<count]
            }
        }

        /// False when the client has closed the connection.
        @discardableResult
        func send(_ text: String) -> Bool { send(bytes: Array(text.utf8)) }

        @discardableResult
        func send(bytes: [UInt8]) -> Bool {
            bytes.withUnsafeBufferPointer { bytes in
                var sent = 0
                while sent < bytes.count {
                    let count = Glibc.send(descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
                    guard count > 0 else { return false }
                    sent += count
                }
                return true
            }
        }

        /// A chunk of a Chat Completions answer.
        @discardableResult
        func sendText(_ text: String) -> Bool { send(#"data: {"choices":[{"index":0,"delta":{"content":"\#(text)"}}]}"# + "\n\n") }

        @discardableResult
        func sendFinish() -> Bool { send(#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"# + "\n\n") }

        @discardableResult
        func sendDone() -> Bool { send("data: [DONE]\n\n") }
    }
}
