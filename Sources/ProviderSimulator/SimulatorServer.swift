import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle
import Synchronization

/// A provider of language models that is none: speaks the providers' dialects on a local port and does what scripts say.
///
/// `run()` serves until its task is cancelled or the service group shuts down; answers that are under way are cut then.
public final class SimulatorServer: Service {
    /// How a simulator listens and what it accepts.
    public struct Configuration: Sendable {
        /// The address to bind.
        public var host: String
        /// The port to bind; 0: any free one.
        public var port: Int
        /// The only key that is accepted; nil: any key.
        public var key: String?
        /// Followed by every request that brings none of its own; nil: an ordinary answer.
        public var defaultScript: Script?
        /// How many requests the journal keeps.
        public var journalCapacity: Int

        /// A configuration for loopback, on any free port, with any key.
        public init(
            host: String = "127.0.0.1", port: Int = 0, key: String? = nil, defaultScript: Script? = nil, journalCapacity: Int = 4096
        ) {
            self.host = host
            self.port = port
            self.key = key
            self.defaultScript = defaultScript
            self.journalCapacity = journalCapacity
        }
    }

    private let configuration: Configuration
    private let group: any EventLoopGroup
    private let desk: ScriptDesk
    let journal: Journal
    private let connections = Mutex(Connections())

    private struct Connections {
        var open: [ObjectIdentifier: any Channel] = [:]
        var isStopping = false
    }

    /// A simulator that is not listening yet.
    public init(configuration: Configuration = .init(), eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton) {
        self.configuration = configuration
        group = eventLoopGroup
        desk = ScriptDesk(standing: configuration.defaultScript)
        journal = Journal(capacity: configuration.journalCapacity)
    }

    /// Counts since the start.
    public var stats: SimulatorStats { journal.stats }

    /// The script for every request that brings none of its own.
    public var defaultScript: Script? {
        get { desk.standing }
        set { desk.standing = newValue }
    }

    /// Gives these scripts to the next requests, one each, in this order.
    public func enqueue(_ scripts: Script...) throws(ScriptError) { try desk.enqueue(scripts) }

    /// Serves until cancelled or shut down. Throws when the address cannot be bound.
    public func run() async throws { try await run { _ in } }

    /// Serves until cancelled or shut down.
    /// - Parameter onListening: called once with the port, when connections are accepted.
    public func run(onListening: @Sendable (_ port: Int) async -> Void) async throws {
        let listener = try await bootstrap().bind(host: configuration.host, port: configuration.port).get()
        try await withTaskCancellationOrGracefulShutdownHandler {
            await onListening(listener.localAddress?.port ?? configuration.port)
            try await listener.closeFuture.get()
        } onCancelOrGracefulShutdown: {
            listener.close(promise: nil)
        }
        await stopConnections()
    }

    private func stopConnections() async {
        let open = connections.withLock { connections in
            connections.isStopping = true
            return Array(connections.open.values)
        }
        for channel in open { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
        for channel in open { try? await channel.closeFuture.get() }
    }

    private func bootstrap() -> ServerBootstrap {
        let dialect = OpenAIDialect(key: configuration.key, desk: desk, journal: journal)
        let control = ControlRoutes(desk: desk, journal: journal)
        @Sendable func route(_ request: Incoming) -> Reply {
            dialect.reply(to: request) ?? control.reply(to: request)
                ?? .fixed(FixedVoice(status: 404, headers: [("content-type", "text/plain")], body: Array("not found\n".utf8)))
        }
        return ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 4096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                        withPipeliningAssistance: false, withErrorHandling: false)
                    try channel.pipeline.syncOperations.addHandler(Connection(route: route))
                    self.remember(channel)
                }
            }
    }

    private func remember(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        let isStopping = connections.withLock { connections in
            connections.open[id] = channel
            return connections.isStopping
        }
        channel.closeFuture.whenComplete { _ in self.connections.withLock { $0.open[id] = nil } }
        // Accepted while the listener was being closed.
        if isStopping { channel.close(promise: nil) }
    }
}
