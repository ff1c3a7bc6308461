import Foundation
import NIOCore

/// The socket under a connection, for a writer that goes past NIO.
enum ClientSocket {
    /// A response's head is small and a socket's buffer large: NIO holds something back only when earlier responses still wait.
    private static let pause = Duration.milliseconds(5)
    /// A client that does not take them in this time is one that has stopped reading (CONTRACT §2).
    private static let patience = Duration.seconds(75)

    /// Takes the socket from NIO, as soon as it has written everything that it was given. From then on the caller writes and reads; it also
    /// closes the descriptor, a duplicate, and the channel, which lets go of its own.
    static func detach(from channel: any Channel) async throws -> (descriptor: Int32, isChunked: Bool) {
        let deadline = ContinuousClock.now + Self.patience
        repeat {
            // What was written before is on the loop before this.
            let detached = try await channel.eventLoop.submit { try detachIfIdle(channel) }.get()
            if let detached { return detached }
            try await Task.sleep(for: pause)
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

/// A client left more unread than its socket takes, for longer than anybody waits.
private struct ClientStalled: Error {}
