import Foundation

/// One plain TCP server on a free port of 127.0.0.1 that answers every connection, then closes it or leaves it open.
final class LoopbackServer: Sendable {
    let port: UInt16
    private let descriptor: Int32

    init(closes: Bool = true, answer: @escaping @Sendable () -> [UInt8]) throws {
        #if canImport(Darwin)
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        // SAFETY: the pointers are valid during the calls, and the sizes are the structure's own.
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 16) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard bound else { throw POSIXError(.EADDRINUSE) }
        self.descriptor = descriptor
        port = UInt16(bigEndian: address.sin_port)
        // Ends when `stop` shuts the socket down.
        Thread.detachNewThread {
            var open: [Int32] = []
            while true {
                let client = accept(descriptor, nil, nil)
                if client < 0 { break }
                let bytes = answer()
                var request = [UInt8](repeating: 0, count: 4096)
                _ = recv(client, &request, request.count, 0)
                _ = send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
                if closes { close(client) } else { open.append(client) }
            }
            for client in open { close(client) }
            close(descriptor)
        }
    }

    static func response(_ status: String, headers: String = "", body: String = "") -> [UInt8] {
        Array("HTTP/1.1 \(status)\r\n\(headers)Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)".utf8)
    }

    func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
