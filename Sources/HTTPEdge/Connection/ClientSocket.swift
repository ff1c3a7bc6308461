import Foundation
import NIOCore

/// Detaches the socket of a connection from NIO, for a writer that needs neither NIO nor Hummingbird.
public enum ClientSocket {
    /// NIO has unwritten bytes only while earlier responses still wait: a response's head is small and a socket's buffer large.
    private static let pollInterval = Duration.milliseconds(5)
    /// A client that does not read for this long has stopped reading (CONTRACT §2).
    private static let timeout = Duration.seconds(75)

    /// Waits until NIO has written everything, then returns a duplicate of the descriptor. The caller writes to it, reads from it, closes it, and
    /// closes the channel, which closes NIO's own descriptor. `isChunked`: whether the response's head announced chunks.
    public static func detach(from channel: any Channel) async throws -> (descriptor: Int32, isChunked: Bool) {
        let deadline = ContinuousClock.now + Self.timeout
        repeat {
            // What was written before is on the loop before this.
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
            // SAFETY: on the channel's loop an active channel's descriptor is open.
            fcntl(socket, F_DUPFD_CLOEXEC, 0)
        }
        guard let descriptor else { throw ChannelError.operationUnsupported }
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "dup") }
        return (descriptor, try channel.pipeline.syncOperations.handler(type: ConnectionHandler.self).detach())
    }
}

/// The client did not read earlier responses within the time limit.
private struct ClientStalled: Error {}
