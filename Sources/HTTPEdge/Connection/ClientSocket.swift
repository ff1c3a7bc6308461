import Foundation
import NIOCore

/// The socket of a connection, for what NIO does not do. Detaches it from NIO, for a writer that needs neither NIO nor Hummingbird.
public enum ClientSocket {
    /// Waits until NIO has written everything, then returns a duplicate of the descriptor. The caller owns it and must close it; it must
    /// also close the channel, which closes NIO's own descriptor. `isChunked`: whether the response's head announced chunked coding.
    /// - Throws: when the connection has ended, also because the client has taken nothing of earlier responses for 75 s.
    public static func detach(from channel: any Channel) async throws -> (descriptor: Int32, isChunked: Bool) {
        // Runs after all writes that were submitted to the event loop before.
        try await channel.eventLoop.flatSubmit { written(channel) }.get()
        return try await channel.eventLoop.submit { try duplicate(channel) }.get()
    }

    /// Succeeds when NIO has written everything to the socket. It has unwritten bytes only while the client has not read earlier responses,
    /// because a response's head fits into the socket's buffer. `ConnectionHandler` closes the connection of a client that never reads them.
    private static func written(_ channel: any Channel) -> EventLoopFuture<Void> {
        do {
            guard let options = channel.syncOptions else { throw ChannelError.operationUnsupported }
            if try options.getOption(.bufferedWritableBytes) == 0 { return channel.eventLoop.makeSucceededVoidFuture() }
            let context = try channel.pipeline.syncOperations.context(handlerType: ConnectionByteHandler.self)
            // Writes complete in their order, also an empty one.
            let mark = channel.eventLoop.makePromise(of: Void.self)
            context.writeAndFlush(NIOAny(ByteBuffer()), promise: mark)
            return mark.futureResult
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

    /// Bytes in the socket's buffer that the client's system has not acknowledged (tcp(7), `SIOCOUTQ`). Must run on the event loop.
    static func unacknowledged(_ channel: any Channel) -> Int {
        let count = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: CInt.self) { socket -> Int in
            var count: CInt = 0
            // SAFETY: as in `duplicate`; the kernel writes one CInt.
            return ioctl(socket, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
        }
        return count ?? 0
    }

    /// Makes the close of the channel a reset, which frees the socket's buffer. After a usual close the kernel would keep the buffer of a
    /// client that does not read for some minutes. Must run on the event loop.
    static func discardUnread(_ channel: any Channel) {
        _ = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: CInt.self) { socket -> CInt in
            var value = linger(l_onoff: 1, l_linger: 0)
            // SAFETY: as in `duplicate`; the kernel reads one linger.
            return setsockopt(socket, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
        }
    }
}
