import Foundation
import Glibc
import Synchronization

/// A TCP server on a thread of its own, which runs a closure of the test for each connection.
final class RawServer: Sendable {
    let port: Int
    private let listener: Int32
    private let acceptedCount = Atomic(0)

    /// The number of accepted connections.
    var accepted: Int { acceptedCount.load(ordering: .relaxed) }
    var url: String { "http://127.0.0.1:\(port)/path" }

    /// - Parameter serve: called for each connection, which is closed when it returns.
    init(_ serve: @escaping @Sendable (RawConnection) -> Void) throws {
        let (listener, port) = try Self.bound()
        (self.listener, self.port) = (listener, port)
        guard listen(listener, 1024) == 0 else { throw POSIXError(.EADDRINUSE) }
        Thread.detachNewThread { [weak self] in
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { break }
                self?.acceptedCount.add(1, ordering: .relaxed)
                Thread.detachNewThread {
                    let connection = RawConnection(descriptor: descriptor)
                    serve(connection)
                    close(descriptor)
                }
            }
            // Here and not in deinit: the number may then be another listener's, and this thread would accept for it.
            close(listener)
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// A bound socket that does not listen: connections to its port are refused while it is open.
    static func bound() throws -> (descriptor: Int32, port: Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
            }
        }
        guard descriptor >= 0, result else { throw POSIXError(.EADDRINUSE) }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    /// Descriptors of this process that are connected to that port.
    static func connections(to port: Int) -> Int {
        let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return open.compactMap { Int32($0) }.filter { descriptor in
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
            }
            return result == 0 && address.sin_family == AF_INET && Int(UInt16(bigEndian: address.sin_port)) == port
        }.count
    }
}

/// The server's side of a connection; blocking.
final class RawConnection {
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    init(descriptor: Int32) {
        self.descriptor = descriptor
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Head and body of the next request; nil when the client has closed the connection.
    func request() -> String? {
        while true {
            if let end = buffer.firstRange(of: Array("\r\n\r\n".utf8)) {
                let head = String(decoding: buffer[..<end.lowerBound], as: UTF8.self)
                let length = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
                let total = end.upperBound + (length.flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0)
                while buffer.count < total { guard fill() else { return nil } }
                defer { buffer.removeFirst(total) }
                return String(decoding: buffer[..<total], as: UTF8.self)
            }
            guard fill() else { return nil }
        }
    }

    /// False when the client has closed the connection.
    @discardableResult
    func write(_ text: String) -> Bool { write(bytes: text.utf8) }

    @discardableResult
    func write(bytes: some Sequence<UInt8>) -> Bool {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    func chunk(_ text: String) { write("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n") }

    /// A streaming head, up to the first chunk.
    func streamHead() {
        write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    }

    /// Answers each request of the connection with one chunk.
    func answerEach(_ text: String) {
        while request() != nil {
            streamHead()
            chunk(text)
            write("0\r\n\r\n")
        }
    }

    /// Blocks until the client closes or resets.
    func waitForClose() { while fill() {} }

    /// Makes `close` reset the connection.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    }

    private func fill() -> Bool {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        guard count > 0 else { return false }
        buffer += bytes[..<count]
        return true
    }
}
