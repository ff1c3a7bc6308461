import Foundation
import Logging
import NIOCore
import NIOPosix
import Testing

@testable import HTTPEdge

@Suite("ClientSocket")
struct ClientSocketTests {
    /// Both ends of a connection: the client's descriptor, and the server's channel with the handlers of `GatewayHTTPChannel` that count.
    private static func connection(_ limits: ConnectionLimits = ConnectionLimits()) async throws -> (client: Int32, channel: any Channel) {
        var pair: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        let log = RequestLog(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let connection = ConnectionHandler(limits: limits, log: log, now: .now())
                    try channel.pipeline.syncOperations.addHandler(ConnectionByteHandler(connection))
                    try channel.pipeline.syncOperations.addHandler(connection)
                }
            }
            .withConnectedSocket(pair[0]).get()
        return (pair[1], channel)
    }

    /// Reads until the other end is closed, on a thread of its own.
    private static func readAll(_ descriptor: Int32) async -> [UInt8] {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
                while case let count = read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
                close(descriptor)
                continuation.resume(returning: bytes)
            }
        }
    }

    @Test("what is written to the detached socket follows all that NIO still had to write")
    func unread() async throws {
        let (client, channel) = try await Self.connection()
        let earlier = ByteBuffer(repeating: 7, count: 4 << 20)
        try await channel.eventLoop.submit {
            let context = try channel.pipeline.syncOperations.context(handlerType: ConnectionByteHandler.self)
            context.writeAndFlush(NIOAny(earlier), promise: nil)
        }.get()
        #expect(try await channel.getOption(.bufferedWritableBytes).get() > 0, "the client has not read, so NIO must hold some")
        async let detached = ClientSocket.detach(from: channel)
        async let received = Self.readAll(client)
        let (descriptor, isChunked) = try await detached
        #expect(isChunked && write(descriptor, "end", 3) == 3)
        close(descriptor)
        try await channel.close().get()
        #expect(await received == [UInt8](repeating: 7, count: 4 << 20) + Array("end".utf8))
    }

    @Test("a socket whose client takes nothing of earlier answers is closed, not detached", .timeLimit(.minutes(1)))
    func stalled() async throws {
        var limits = ConnectionLimits()
        limits.idle = .milliseconds(200)
        limits.progressCheck = .milliseconds(20)
        let (client, channel) = try await Self.connection(limits)
        defer { close(client) }
        try await channel.eventLoop.submit {
            let context = try channel.pipeline.syncOperations.context(handlerType: ConnectionByteHandler.self)
            context.write(NIOAny(ByteBuffer(repeating: 7, count: 4 << 20)), promise: nil)
            channel.flush()
        }.get()
        await #expect(throws: (any Error).self) { try await ClientSocket.detach(from: channel) }
        try await channel.closeFuture.get()
    }

    @Test("a socket whose client is gone is not detached")
    func gone() async throws {
        let (client, channel) = try await Self.connection()
        close(client)
        try await channel.closeFuture.get()
        await #expect(throws: (any Error).self) { try await ClientSocket.detach(from: channel) }
    }
}
