import Foundation
import NIOCore

/// The socket under a connection, for a writer that goes past NIO.
enum ClientSocket {
    /// A response's head is small and a socket's buffer large: NIO holds something back only when earlier responses still wait.
    private static let pause = Duration.milliseconds(5)
    /// A client that does not take them in this time is one that has stopped reading (CONTRACT §2).
    private static let patience = Duration.seconds(75)

    /// A duplicate of the connection's descriptor, as soon as NIO has written everything that it was given. From then on nobody but the
    /// caller writes, until the caller gives NIO something again. The caller closes it; NIO goes on reading.
    static func duplicate(of channel: any Channel) async throws -> Int32 {
        let deadline = ContinuousClock.now + Self.patience
        repeat {
            // What was written before is on the loop before this.
            let descriptor = try await channel.eventLoop.submit { try duplicateIfIdle(channel) }.get()
            if let descriptor { return descriptor }
            try await Task.sleep(for: pause)
        } while ContinuousClock.now < deadline
        throw ClientStalled()
    }

    private static func duplicateIfIdle(_ channel: any Channel) throws -> Int32? {
        guard let options = channel.syncOptions else { throw ChannelError.operationUnsupported }
        guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
        guard try options.getOption(.bufferedWritableBytes) == 0 else { return nil }
        let descriptor = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: CInt.self) { socket in
            // SAFETY: on the channel's loop an active channel's descriptor is open.
            fcntl(socket, F_DUPFD_CLOEXEC, 0)
        }
        guard let descriptor else { throw ChannelError.operationUnsupported }
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "dup") }
        return descriptor
    }
}

/// A client left more unread than its socket takes, for longer than anybody waits.
private struct ClientStalled: Error {}
