import Foundation
import Glibc

/// A provider that sends a word every 100 ms, or a flood, or a word and 10 MB in a line, if the message requests it. One thread for each connection.
final class FloodingProvider: Sendable {
    let port: Int
    private let listener: Int32

    var url: String { "http://127.0.0.1:\(port)/v1" }

    /// The number of words of an ordinary answer.
    static let words = 60
    static let pace = Duration.milliseconds(100)

    init() throws {
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
        Thread.detachNewThread {
            while case let connection = accept(listener, nil, nil), connection >= 0 {
                Thread.detachNewThread {
                    Self.serve(connection)
                    close(connection)
                }
            }
            // Here and not in deinit: the number may then be another listener's, and this thread would accept for it.
            close(listener)
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func serve(_ connection: Int32) {
        var request: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        // The prompt ends with the message, which is near the end of the body.
        while !String(decoding: request, as: UTF8.self).hasSuffix("}]}") {
            let count = recv(connection, &chunk, chunk.count, 0)
            guard count > 0 else { return }
            request += chunk[..<count]
        }
        let text = String(decoding: request, as: UTF8.self)
        guard write(connection, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n") else { return }
        if text.contains("flood with comments") {
            let block = String(repeating: ": comment\n\n", count: 1 << 14)
            while write(connection, block) {}
        } else if text.contains("flood with one line") {
            guard write(connection, "data: ") else { return }
            let block = String(repeating: "x", count: 1 << 18)
            for _ in 0..<(1 << 12) where !write(connection, block) { return }
        } else if text.contains("flood after text") {
            guard write(connection, #"data: {"choices":[{"index":0,"delta":{"content":"Kept."}}]}"# + "\n\ndata: ") else { return }
            _ = write(connection, String(repeating: "x", count: 10 << 20))
        } else {
            for _ in 0..<words {
                guard write(connection, #"data: {"choices":[{"index":0,"delta":{"content":"word "}}]}"# + "\n\n") else { return }
                Thread.sleep(forTimeInterval: pace / .seconds(1))
            }
            _ = write(connection, #"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"# + "\n\ndata: [DONE]\n\n")
        }
    }

    private static func write(_ connection: Int32, _ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = send(connection, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
    }
}
