import CoachCore
import Foundation
import Hummingbird
import HummingbirdCore
import Identity
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import TokenRelay

/// The HTTP edge, put together from the parts that it is given. A `Service`.
public struct GatewayApplication: Service {
    /// What the edge needs from outside.
    public struct Parts: Sendable {
        var host: String
        var port: Int
        var corsOrigins: [String]
        var identity: TokenVerifier
        var coaching: Coaching
        var repository: TurnRepository
        var model: LanguageModel
        var finalizer: TurnFinalizer
        var registry: TurnRegistry
        var remoteTurns: RemoteTurnTailer
        var recovery: TurnRecovery
        var conversations: ConversationRepository
        var counter: RequestCounter
        var admission: Admission
        var streamLoop: StreamLoop
        var readiness: @Sendable () async -> InstanceReadiness
        var logger: Logger
        var onListening: @Sendable (Int) async -> Void

        /// `onListening` receives the bound port, also when the configured port is 0.
        public init(
            host: String, port: Int, corsOrigins: [String], identity: TokenVerifier, coaching: Coaching, repository: TurnRepository,
            model: LanguageModel, finalizer: TurnFinalizer, registry: TurnRegistry, remoteTurns: RemoteTurnTailer, recovery: TurnRecovery,
            conversations: ConversationRepository, counter: RequestCounter,
            admission: Admission, streamLoop: StreamLoop,
            readiness: @escaping @Sendable () async -> InstanceReadiness, logger: Logger,
            onListening: @escaping @Sendable (Int) async -> Void
        ) {
            self.host = host
            self.port = port
            self.corsOrigins = corsOrigins
            self.identity = identity
            self.coaching = coaching
            self.repository = repository
            self.model = model
            self.finalizer = finalizer
            self.registry = registry
            self.remoteTurns = remoteTurns
            self.recovery = recovery
            self.conversations = conversations
            self.counter = counter
            self.admission = admission
            self.streamLoop = streamLoop
            self.readiness = readiness
            self.logger = logger
            self.onListening = onListening
        }
    }

    private let parts: Parts

    /// Nothing listens until `run`.
    public init(_ parts: Parts) { self.parts = parts }

    /// Listens until the task is cancelled or a graceful shutdown is asked for.
    public func run() async throws {
        let log = RequestLog(logger: parts.logger)
        let application = Application(
            responder: BriefResponder(router(log).buildResponder()), server: .gateway(log: log),
            configuration: .init(
                address: .hostname(parts.host, port: parts.port), backlog: 1024,
                availableConnectionsDelegate: MaximumAvailableConnections(Self.maximumConnections)),
            onServerRunning: { channel in await parts.onListening(channel.localAddress?.port ?? parts.port) },
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), logger: Self.quiet)
        do {
            try await application.run()
        } catch let error as IOError {
            // Nothing but the binding of the address fails with one.
            throw AddressUnavailable(host: parts.host, port: parts.port, reason: String(cString: strerror(error.errnoCode)))
        }
    }

    /// Beyond this many, new connections wait in the kernel's backlog.
    private static let maximumConnections = 20_000

    /// Hummingbird's own lines say nothing that ours do not; its debug lines would print paths.
    private static var quiet: Logger {
        var logger = Logger(label: "http")
        logger.logLevel = .critical
        return logger
    }

    private func router(_ log: RequestLog) -> Router<GatewayContext> {
        let router = Router(context: GatewayContext.self)
        router.addMiddleware {
            EdgeMiddleware(log: log, crossOrigin: CrossOrigin(origins: Set(parts.corsOrigins)))
        }
        let pipeline = TurnPipeline(
            identity: parts.identity, coaching: parts.coaching, repository: parts.repository, model: parts.model,
            finalizer: parts.finalizer,
            registry: parts.registry, remoteTurns: parts.remoteTurns, recovery: parts.recovery, counter: parts.counter,
            admission: parts.admission)
        ChatRoutes(pipeline: pipeline, streamLoop: parts.streamLoop).register(on: router)
        ConversationRoutes(
            identity: parts.identity, counter: parts.counter, conversations: parts.conversations, registry: parts.registry,
            recovery: parts.recovery
        ).register(on: router)
        HealthRoutes(readiness: parts.readiness).register(on: router)
        return router
    }
}

extension GatewayApplication: CustomStringConvertible {
    /// A service group keeps this as the name. Without one it spells out all that is in here, six megabytes of it.
    public var description: String { "GatewayApplication" }
}

/// The address to listen on cannot be had.
struct AddressUnavailable: Error, CustomStringConvertible {
    var host: String
    var port: Int
    var reason: String
    var description: String { "cannot listen on \(host):\(port): \(reason)" }
}
