import CoachCore
import CoachStore
import Foundation
import GatewayServer
import Identity
import Logging
import ModelProviders
import PostgresClient
import Reactor
import ServiceLifecycle
import TokenRelay

/// The parts list of a running gateway.
struct Gateway {
    private let configuration: GatewayConfiguration
    private let logger: Logger
    private let reactor: Reactor
    private let database: PostgresClient
    private let keySet: KeySet?
    private let registry = TurnRegistry()
    private let admission: Admission
    private let application: GatewayApplication

    init(_ configuration: GatewayConfiguration, _ files: ProductFiles, databaseURL: String, logger: Logger) throws {
        self.configuration = configuration
        self.logger = logger
        reactor = try Reactor(name: "reactor")
        database = PostgresClient(Self.database(configuration, url: databaseURL), reactor: reactor)
        keySet = try Self.keySet(configuration, logger: logger)
        admission = Admission(registry: registry, maximumTurns: configuration.maximumTurns)

        let turns = TurnStore(client: database, owner: TurnOwner(), limits: { files.limits })
        let transfers = try TransferPool(reactor: reactor)
        let keys = ProviderKeys(of: files.models, environment: configuration.processEnvironment)
        let settlement = TurnSettlement(ledger: turns.ledger, prices: files.prices, registry: registry, logger: logger)
        application = GatewayApplication(
            .init(
                host: configuration.listen.host, port: configuration.listen.port, corsOrigins: configuration.corsOrigins,
                identity: try Self.verifier(configuration, keySet: keySet), coaching: files.coaching, ledger: turns.ledger,
                model: makeLanguageModel(configuration: files.models, keys: keys, transfers: transfers), settlement: settlement,
                registry: registry, admission: admission,
                readiness: { [database, admission, registry] in
                    Readiness(
                        database: database.status.isReachable, accepting: admission.isOpen,
                        details: ["turns": "\(registry.count)", "executor_takeover": "\(ExecutorTakeover.isInstalled)"])
                },
                logger: logger,
                onListening: { port in
                    logger.notice("listening", metadata: ["host": "\(configuration.listen.host)", "port": "\(port)"])
                }))
    }

    /// Runs until SIGTERM or SIGINT: new turns are refused, running ones end, then the rest stops in the reverse of this order.
    func run() async throws {
        reactor.start()
        var services: [any Service] = [DatabaseService(client: database)]
        if let keySet { services.append(KeySetService(keySet: keySet)) }
        services.append(
            DrainingService(application, admission: admission, registry: registry, patience: configuration.drain, logger: logger))
        var group = ServiceGroupConfiguration(services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        group.maximumGracefulShutdownDuration = configuration.drain + .seconds(200)
        try await ServiceGroup(configuration: group).run()
        reactor.stop()
    }

    private static func database(_ configuration: GatewayConfiguration, url: String) -> PostgresConfiguration {
        var database = PostgresConfiguration(url)
        database.listenConnectionString = configuration.databaseListenURL
        database.applicationName = "coach-gateway"
        database.maximumLeases = configuration.databaseConnections
        database.statements = configuration.statements == .prepared ? .prepared : .unnamed
        return database
    }

    private static func verifier(_ configuration: GatewayConfiguration, keySet: KeySet?) throws -> TokenVerifier {
        TokenVerifier(
            policy: TokenPolicy(audience: configuration.jwtAudience, issuer: configuration.jwtIssuer),
            secret: try configuration.jwtSecret.map { try SharedSecret($0) }, keySet: keySet)
    }

    private static func keySet(_ configuration: GatewayConfiguration, logger: Logger) throws -> KeySet? {
        let source: KeySource
        if let url = configuration.jwksURL {
            source = try .url(url)
        } else if let file = configuration.jwksFile {
            source = .file(file)
        } else {
            return nil
        }
        return KeySet(source: source, report: { event in
            switch event {
            case .loaded(let identifiers, let findings):
                logger.notice(
                    "key set loaded", metadata: ["kids": "\(identifiers.joined(separator: " "))", "findings": "\(findings.count)"])
            case .failed(let reason): logger.error("key set could not be read", metadata: ["reason": "\(reason)"])
            }
        })
    }
}

/// The database's pool for the life of the process.
private struct DatabaseService: Service {
    let client: PostgresClient

    func run() async throws {
        client.start()
        try? await gracefulShutdown()
        await client.shutdown()
    }
}

/// The issuer's keys, kept fresh.
private struct KeySetService: Service {
    let keySet: KeySet
    func run() async throws { await cancelWhenGracefulShutdown { await keySet.run() } }
}
