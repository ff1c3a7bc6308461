import Foundation
import Hummingbird
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

extension ApplicationProtocol {
    /// Listens until the task is cancelled or a graceful shutdown begins. Both shut the application down gracefully. Throws
    /// `AddressUnavailable` before the application starts.
    ///
    /// The application must never be cancelled: its date cache loops over the `merge` of swift-async-algorithms (1.1.4), which can wait for its
    /// own lock for ever when it is cancelled while it starts. On a busy machine one process in twelve whose port was taken did not end, not
    /// even by a signal.
    func listen(host: String, port: Int) async throws {
        let address = ListenAddress(host: host, port: port)
        try await address.check()
        let group = ServiceGroup(configuration: .init(services: [self], logger: logger))
        // Detached from the cancellation of this task.
        let serving = Task.detached { try await group.run() }
        do {
            try await withTaskCancellationHandler {
                try await withGracefulShutdownHandler {
                    try await serving.value
                } onGracefulShutdown: {
                    // Both end at once: they only tell the group, which `serving` waits for.
                    Task { await group.triggerGracefulShutdown() }
                }
            } onCancel: {
                Task { await group.triggerGracefulShutdown() }
            }
        } catch let error as IOError {
            // The only `IOError` that reaches this is the failure to bind the address.
            throw AddressUnavailable(address, error)
        }
    }
}

extension Logger {
    /// For Hummingbird, whose lines repeat those of `RequestLog`. Its debug lines contain paths, which may contain secrets.
    static func onlyCritical(label: String) -> Logger {
        var logger = Logger(label: label)
        logger.logLevel = .critical
        return logger
    }
}

/// Where a server listens.
struct ListenAddress {
    var host: String
    var port: Int

    /// Binds the address once and frees it. Throws `AddressUnavailable`.
    func check() async throws {
        do {
            let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            try await bootstrap.bind(host: host, port: port).get().close()
        } catch let error as IOError {
            throw AddressUnavailable(self, error)
        }
    }
}

/// The address to listen on is not available.
struct AddressUnavailable: Error, CustomStringConvertible {
    var address: ListenAddress
    var reason: String
    var description: String { "cannot listen on \(address.host):\(address.port): \(reason)" }

    init(_ address: ListenAddress, _ error: IOError) {
        self.address = address
        reason = String(cString: strerror(error.errnoCode))
    }
}
