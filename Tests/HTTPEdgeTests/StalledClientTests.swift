import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import Testing

@testable import HTTPEdge

/// With a server that has room for two connections, as the gateway has for 20,000.
@Suite("Clients that do not read their answers", .timeLimit(.minutes(1)))
struct StalledClientTests {
    /// More than the socket's buffer, which is at most 4 MiB by Linux's default, and the channel hold.
    private static let pieces = 200
    private static let piece = ByteBuffer(repeating: 7, count: 64 << 10)

    private static let idle = TimeAmount.seconds(2)
    private static var limits: ConnectionLimits {
        var limits = ConnectionLimits()
        limits.idle = idle
        limits.progressCheck = .milliseconds(50)
        return limits
    }

    /// `onError` is called when the body of `/stream` cannot be written.
    private static func router(onError: @escaping @Sendable () -> Void) -> Router<BasicRequestContext> {
        let router = Router()
        router.get("/short") { _, _ in Response(status: .ok) }
        router.get("/piece") { _, _ in Response(status: .ok, body: ResponseBody(byteBuffer: piece)) }
        router.get("/stream") { _, _ -> Response in
            let body = ResponseBody { writer in
                do {
                    // Without an end: the channel takes megabytes before it says that it takes no more.
                    while true { try await writer.write(piece) }
                } catch {
                    onError()
                    throw error
                }
            }
            return Response(status: .ok, body: body)
        }
        return router
    }

    /// Runs a server during `test`, which gets its port.
    private static func serve(
        onError: @escaping @Sendable () -> Void = {}, _ test: (Int) async throws -> Void
    ) async throws {
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let application = Application(
            router: router(onError: onError), server: .gateway(log: RequestLog(logger: quiet), limits: Self.limits),
            configuration: .init(address: .hostname("127.0.0.1", port: 0), availableConnectionsDelegate: MaximumAvailableConnections(2)),
            onServerRunning: { channel in listening.yield(channel.localAddress?.port ?? 0) },
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), logger: quiet)
        // Ends by its cancellation below.
        let server = Task { try await application.listen(host: "127.0.0.1", port: 0) }
        defer { server.cancel() }
        let port = try #require(await ports.first { _ in true })
        try await test(port)
    }

    @Test(
        "are disconnected, whether a body waits or the answers to pipelined requests, and the next client gets their place",
        arguments: [("/stream", 1), ("/piece", Self.pieces)])
    func placeIsFreed(path: String, requests: Int) async throws {
        try await Self.serve { port in
            let waited = try await SmallWindowClient.run {
                let start = ContinuousClock.now
                let stalled = try (0..<2).map { _ in try SmallWindowClient(port: port, path, count: requests) }
                // Both have their places.
                for client in stalled { #expect(try client.receive(1) == 1) }
                let next = try SmallWindowClient(port: port, "/short", count: 1)
                #expect(try next.receive(4096) > 0)
                withExtendedLifetime(stalled) {}
                return start.duration(to: .now)
            }
            #expect(waited >= .nanoseconds(Self.idle.nanoseconds), "the next client must have waited for a place: \(waited)")
        }
    }

    @Test("end the body that waits for them with an error")
    func bodyFails() async throws {
        let (errors, failed) = AsyncStream.makeStream(of: Void.self)
        try await Self.serve(onError: { failed.yield() }) { port in
            let client = try await SmallWindowClient.run { try SmallWindowClient(port: port, "/stream", count: 1) }
            for await _ in errors { break }
            withExtendedLifetime(client) {}
        }
    }

    @Test("stay while they read a little at a time, long before the socket's buffer takes more")
    func slow() async throws {
        try await Self.serve { port in
            let received = try await SmallWindowClient.run {
                let client = try SmallWindowClient(port: port, "/stream", count: 1)
                let start = ContinuousClock.now
                var received = 0
                while start.duration(to: .now) < .nanoseconds(3 * Self.idle.nanoseconds) {
                    let count = try client.receive(4096)
                    try #require(count > 0, "closed after \(received) bytes")
                    received += count
                    // The pace of the reader, not a wait for something.
                    Thread.sleep(forTimeInterval: 0.05)
                }
                return received
            }
            // Less than a third of the socket's buffer of 2.6 MB: the channel itself has seen no progress.
            #expect(received < 800_000)
        }
    }
}

/// A connection with a receive window of some kilobytes that has sent requests. Its calls block, so they must run in `run`.
private final class SmallWindowClient: Sendable {
    private let descriptor: CInt

    struct Failure: Error {
        var call: String
        var reason = String(cString: strerror(errno))
    }

    /// Sends `count` requests for `path` in one write.
    init(port: Int, _ path: String, count: Int) throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var window: CInt = 4096
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &window, socklen_t(MemoryLayout<CInt>.size))
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        guard result == 0 else { throw Failure(call: "connect") }
        let requests = Array(String(repeating: "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n", count: count).utf8)
        guard send(descriptor, requests, requests.count, CInt(MSG_NOSIGNAL)) == requests.count else { throw Failure(call: "send") }
    }

    deinit { close(descriptor) }

    /// Runs blocking work outside of the cooperative threads.
    static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Waits for bytes and takes at most `count`; returns how many, 0 at the end.
    func receive(_ count: Int) throws -> Int {
        var bytes = [UInt8](repeating: 0, count: count)
        let received = recv(descriptor, &bytes, count, 0)
        guard received >= 0 else { throw Failure(call: "receive") }
        return received
    }
}
