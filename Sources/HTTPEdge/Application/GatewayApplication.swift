import CoachCore
import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// The public HTTP server: the features' routes behind the common middleware. A `Service`.
public struct GatewayApplication: Service {
    /// The address to listen on, and the browser origins that CORS allows.
    public struct Configuration: Sendable {
        var host: String
        var port: Int
        var corsOrigins: Set<String>

        public init(host: String, port: Int, corsOrigins: [String]) {
            self.host = host
            self.port = port
            self.corsOrigins = Set(corsOrigins)
        }
    }

    private let configuration: Configuration
    private let features: [any Feature]
    private let authenticator: Authenticator
    private let idempotency: IdempotentRequests
    private let readiness: @Sendable () async -> InstanceReadiness
    private let logger: Logger
    private let onListening: @Sendable (Int) async -> Void

    /// Does not listen before `run`. `onListening` gets the bound port, also when the configured port is 0.
    public init(
        _ configuration: Configuration, features: [any Feature], authenticator: Authenticator, idempotency: IdempotentRequests,
        readiness: @escaping @Sendable () async -> InstanceReadiness, logger: Logger, onListening: @escaping @Sendable (Int) async -> Void
    ) {
        self.configuration = configuration
        self.features = features
        self.authenticator = authenticator
        self.idempotency = idempotency
        self.readiness = readiness
        self.logger = logger
        self.onListening = onListening
    }

    /// Listens until the task is cancelled or a graceful shutdown begins.
    public func run() async throws {
        let log = RequestLog(logger: logger)
        let application = Application(
            responder: RequestTaskResponder(router(log).buildResponder()),
            server: .gateway(log: log, crossOrigin: crossOrigin, unauthenticated: authenticator.unauthenticated),
            configuration: .init(
                address: .hostname(configuration.host, port: configuration.port), backlog: 1024,
                availableConnectionsDelegate: MaximumAvailableConnections(Self.maximumConnections)),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? configuration.port) },
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), logger: .onlyCritical(label: "http"))
        try await application.listen(host: configuration.host, port: configuration.port)
    }

    /// More connections wait in the kernel's backlog.
    private static let maximumConnections = 20_000

    private var crossOrigin: CrossOrigin { CrossOrigin(origins: configuration.corsOrigins) }

    func router(_ log: RequestLog) -> Router<GatewayContext> {
        let router = Router(context: GatewayContext.self)
        router.addMiddleware {
            EdgeMiddleware(log: log, crossOrigin: crossOrigin, authenticator: authenticator)
        }
        let routes = RouteTable(authenticator: authenticator, errors: log.errors, idempotency: idempotency)
        for feature in features + [HealthRoutes(readiness: readiness)] { feature.register(on: routes) }
        DocumentationRoutes.register(on: routes)
        routes.install(on: router)
        return router
    }
}

extension GatewayApplication: CustomStringConvertible {
    /// `ServiceGroup` keeps the description as the service's name. The default description prints all content: six megabytes.
    public var description: String { "GatewayApplication" }
}
