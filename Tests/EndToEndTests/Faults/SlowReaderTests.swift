import Foundation
import Glibc
import Testing

@Suite("Slow readers", .paced)
struct SlowReaderTests {
    private static func gateway() async throws -> (Gateway, Simulator) {
        let testBed = try await TestBed.shared()
        let simulator = try await Simulator()
        // The longest answer that a turn may have, in the requested number of tokens.
        let script = ["tokens": [String](repeating: String(repeating: "word ", count: 12), count: 1000), "pace_ms": 0] as [String: Any]
        let body = try JSONSerialization.data(withJSONObject: script)
        _ = try await Browser(port: simulator.port).send("PUT", "/simulator/script", body: Array(body))
        return (try await Gateway(database: testBed.database.gatewayURL, simulator: simulator.url), simulator)
    }

    @Test("two hundred readers of 1 byte/s delay no other client, and their memory is bounded and used again")
    func slowReaders() async throws {
        let (gateway, simulator) = try await Self.gateway()
        defer { withExtendedLifetime(simulator) {} }
        let slow = gateway.testUser()
        let long = try await slow.chat("Hello")
        #expect(long.content.utf8.count == 60_000)
        let turn = try #require(long.first("start")?["turn_id"])
        let request = slow.browser.head("GET", "\(Browser.chatPath)/\(turn)", bodyCount: nil)
        var sizes = [try gateway.program.memory.resident()]
        for _ in 0..<3 {
            let readers = try await Wire.run { try (0..<200).map { _ in try SlowReader(port: gateway.port, request) } }
            // Reads one byte of each, once a second, while another client is answered.
            let reading = Task {
                while !Task.isCancelled {
                    try await Wire.run { for reader in readers { reader.readOneByte() } }
                    try await Task.sleep(for: .seconds(1))
                }
            }
            let quick = try await gateway.testUser().openStream("Hello \(sim(["words": 60, "pace_ms": 40]))").toEnd()
            reading.cancel()
            try #require(quick.end?.type == "done", "\(quick.eventTypes)")
            let gaps = zip(quick.arrivals, quick.arrivals.dropFirst()).map { $0.at.duration(to: $1.at) }
            try #require(gaps.count > 10, "\(gaps.count)")
            #expect(gaps.sorted()[gaps.count * 9 / 10] < .milliseconds(250), "\(gaps.max() ?? .zero)")
            sizes.append(try gateway.program.memory.resident())
            withExtendedLifetime(readers) {}
        }
        // Each reads a copy of 60,000 bytes; the rest is the connection, and what the allocator keeps for the next one. If nothing were
        // used again the second and third crowd would cost twice as much as they may here.
        #expect(sizes[1] - sizes[0] < 200 * 160 * 1024, "\(sizes)")
        #expect(sizes[3] - sizes[1] < 400 * 30_000, "\(sizes)")
    }
}

/// A connection with the smallest receive window of the system, read byte by byte.
private final class SlowReader: Sendable {
    private let descriptor: Int32

    init(port: Int, _ request: [UInt8]) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var window: Int32 = 2048
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &window, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        guard result == 0, Glibc.send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw Wire.Failure(description: "a slow reader cannot connect: \(String(cString: strerror(errno)))")
        }
    }

    deinit { close(descriptor) }

    func readOneByte() {
        var byte: UInt8 = 0
        _ = recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT))
    }
}
