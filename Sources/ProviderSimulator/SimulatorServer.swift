import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle
import Synchronization

/// An HTTP server that simulates a provider of language models: it implements the providers' dialects and fails as scripts determine.
///
/// `run()` serves until its task is cancelled or the service group shuts down, and then cuts the responses in progress.
public final class SimulatorServer: Service {
    /// The address and limits of a simulator.
    public struct Configuration: Sendable {
        /// The address to bind.
        public var host: String
        /// The port to bind; 0 selects a free one.
        public var port: Int
        /// The only accepted API key; nil accepts any key.
        public var key: String?
        /// The script of requests that have no other one; nil: a regular answer.
        public var defaultScript: Script?
        /// The number of requests that the journal keeps.
        public var journalCapacity: Int

        /// Defaults: loopback, any free port, any key.
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
    private let scriptQueue: ScriptQueue
    let journal: Journal
    private let connections = Mutex(Connections())

    private struct Connections {
        var open: [ObjectIdentifier: any Channel] = [:]
        var isStopping = false
    }

    /// Creates a simulator. `run` starts it.
    public init(configuration: Configuration = .init(), eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton) {
        self.configuration = configuration
        group = eventLoopGroup
        scriptQueue = ScriptQueue(defaultScript: configuration.defaultScript)
        journal = Journal(capacity: configuration.journalCapacity)
    }

    /// Counts of requests since the start.
    public var stats: SimulatorStats { journal.stats }

    /// Queues scripts. Each of the next requests uses one, in this order.
    public func enqueue(_ scripts: Script...) throws(ScriptError) { try scriptQueue.enqueue(scripts) }

    /// Serves until cancelled or shut down. Throws when the address cannot be bound.
    public func run() async throws { try await run { _ in } }

    /// Serves until cancelled or shut down.
    /// - Parameter onListening: called once with the port, after it accepts connections.
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
        let dialects = DialectRoutes(key: configuration.key, scriptQueue: scriptQueue, journal: journal)
        let openAI = OpenAIDialect(key: configuration.key, scriptQueue: scriptQueue, journal: journal)
        let control = ControlRoutes(scriptQueue: scriptQueue, journal: journal)
        @Sendable func route(_ request: ReceivedRequest) -> Reply {
            dialects.reply(to: request) ?? openAI.reply(to: request) ?? control.reply(to: request)
                ?? .fixed(FixedResponse(status: 404, headers: [("content-type", "text/plain")], body: Array("not found\n".utf8)))
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
