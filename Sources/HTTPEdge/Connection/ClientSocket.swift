import Foundation
import NIOCore

/// Detaches the socket of a connection from NIO, for a writer that needs neither NIO nor Hummingbird.
public enum ClientSocket {
    /// Polling is rare: NIO has unwritten bytes only while the client has not read earlier responses, because a response's head fits into
    /// the socket's buffer.
    private static let pollInterval = Duration.milliseconds(5)
    /// How long a client may not read before the connection ends (CONTRACT §2).
    private static let timeout = Duration.seconds(75)

    /// Waits until NIO has written everything, then returns a duplicate of the descriptor. The caller owns it and must close it; it must
    /// also close the channel, which closes NIO's own descriptor. `isChunked`: whether the response's head announced chunked coding.
    /// - Throws: when the connection has ended, or the client has not read earlier responses for 75 s.
    public static func detach(from channel: any Channel) async throws -> (descriptor: Int32, isChunked: Bool) {
        let deadline = ContinuousClock.now + Self.timeout
        repeat {
            // Runs after all writes that were submitted to the event loop before.
            let detached = try await channel.eventLoop.submit { try detachIfIdle(channel) }.get()
            if let detached { return detached }
            try await Task.sleep(for: pollInterval)
        } while ContinuousClock.now < deadline
        throw ClientStalled()
    }

    private static func detachIfIdle(_ channel: any Channel) throws -> (descriptor: Int32, isChunked: Bool)? {
        guard let options = channel.syncOptions else { throw ChannelError.operationUnsupported }
        guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
        guard try options.getOption(.bufferedWritableBytes) == 0 else { return nil }
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
