import Foundation
import NIOCore

/// Detaches the socket of a connection from NIO, for a writer that needs neither NIO nor Hummingbird.
public enum ClientSocket {
    /// How long a client may not read before the connection ends (CONTRACT §2).
    private static let timeout = TimeAmount.seconds(75)

    /// Waits until NIO has written everything, then returns a duplicate of the descriptor. The caller owns it and must close it; it must
    /// also close the channel, which closes NIO's own descriptor. `isChunked`: whether the response's head announced chunked coding.
    /// - Throws: when the connection has ended, or the client has not read earlier responses for 75 s.
    public static func detach(from channel: any Channel) async throws -> (descriptor: Int32, isChunked: Bool) {
        // Runs after all writes that were submitted to the event loop before.
        try await channel.eventLoop.flatSubmit { written(channel) }.get()
        return try await channel.eventLoop.submit { try duplicate(channel) }.get()
    }

    /// Succeeds when NIO has written everything to the socket. It has unwritten bytes only while the client has not read earlier responses,
    /// because a response's head fits into the socket's buffer.
    private static func written(_ channel: any Channel) -> EventLoopFuture<Void> {
        do {
            guard let options = channel.syncOptions else { throw ChannelError.operationUnsupported }
            if try options.getOption(.bufferedWritableBytes) == 0 { return channel.eventLoop.makeSucceededVoidFuture() }
            let context = try channel.pipeline.syncOperations.context(handlerType: ConnectionByteHandler.self)
            // Writes complete in their order, also an empty one.
            let mark = channel.eventLoop.makePromise(of: Void.self)
            context.writeAndFlush(NIOAny(ByteBuffer()), promise: mark)
            let result = channel.eventLoop.makePromise(of: Void.self)
            let timer = channel.eventLoop.scheduleTask(in: timeout) { result.fail(ClientStalled()) }
            mark.futureResult.whenComplete { outcome in
                timer.cancel()
                // No effect after the timeout.
                result.completeWith(outcome)
            }
            return result.futureResult
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
    }

    private static func duplicate(_ channel: any Channel) throws -> (descriptor: Int32, isChunked: Bool) {
        guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
        let descriptor = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: CInt.self) { socket in
            // SAFETY: this runs on the channel's event loop, where the descriptor of an active channel is open.
            fcntl(socket, F_DUPFD_CLOEXEC, 0)
        }
        guard let descriptor else { throw ChannelError.operationUnsupported }
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "dup") }
        return (descriptor, try channel.pipeline.syncOperations.handler(type: ConnectionHandler.self).detach())
    }
}

/// The client did not read earlier responses within the time limit.
private struct ClientStalled: Error {}
