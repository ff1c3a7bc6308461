import Foundation
import Glibc

/// A raw TCP connection, for what HTTP libraries do not send: malformed heads, single bytes, resets.
/// Its calls block, so they must run on separate threads (`Wire.run`), not on the cooperative pool.
// SAFETY: each wire is used by one test, on one thread at a time.
final class Wire: @unchecked Sendable {
    private var descriptor: Int32
    private var buffer: [UInt8] = []

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// Connects to loopback. Reads throw after `timeout` seconds without a byte.
    init(port: Int, timeout: Int = 30) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var limit = timeval(tv_sec: timeout, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        // Child processes of other tests must not inherit the connection.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        guard result == 0 else {
            let reason = String(cString: strerror(errno))
            close()
            throw Failure(description: "connect to \(port): \(reason)")
        }
    }

    deinit { close() }

    /// Runs blocking work outside of the cooperative threads.
    static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result { try body() }) }.start()
        }
    }

    // MARK: Ends

    /// Closes the connection normally.
    func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }

    /// Closes the sending side.
    func closeForWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Delays acknowledgements, as phones do: a sender with Nagle's algorithm then sends in bursts.
    func acknowledgeLate() {
        var no: Int32 = 0
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_QUICKACK, &no, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Resets the connection.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    // MARK: Bytes

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw Failure(description: "send: \(String(cString: strerror(errno)))") }
            sent += count
        }
    }

    /// The next bytes; empty when the peer has closed the connection.
    func receive() throws -> [UInt8] {
        if !buffer.isEmpty {
            defer { buffer = [] }
            return buffer
        }
        var chunk = [UInt8](repeating: 0, count: 65536)
        let count = chunk.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        if count < 0 { throw Failure(description: "receive: \(String(cString: strerror(errno)))") }
        return Array(chunk[..<count])
    }

    /// Puts bytes back, to be received again.
    func putBack(_ bytes: [UInt8]) { buffer = bytes + buffer }

    /// Bytes up to and with `mark`.
    func receive(until mark: String) throws -> [UInt8] {
        let mark = Array(mark.utf8)
        var collected: [UInt8] = []
        while true {
            let chunk = try receive()
            guard !chunk.isEmpty else {
                throw Failure(description: "closed before \(mark), after: \(String(decoding: collected, as: UTF8.self))")
            }
            var index = max(0, collected.count - mark.count + 1)
            collected += chunk
            while index + mark.count <= collected.count {
                if collected[index...].starts(with: mark) {
                    buffer = Array(collected[(index + mark.count)...])
                    return Array(collected[..<(index + mark.count)])
                }
                index += 1
            }
        }
    }

    /// Exactly `count` bytes.
    func receive(count: Int) throws -> [UInt8] {
        var collected: [UInt8] = []
        while collected.count < count {
            let chunk = try receive()
            guard !chunk.isEmpty else { throw Failure(description: "closed after \(collected.count) of \(count) bytes") }
            collected += chunk
        }
        buffer = Array(collected[count...])
        return Array(collected[..<count])
    }
}
