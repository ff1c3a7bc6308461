import ArgumentParser
import CoreMetrics
import Foundation
import Logging
import Telemetry

/// `serve`: the gateway.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "serve", abstract: "Run the gateway until SIGTERM or SIGINT.")

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.load()
        let (files, findings) = ProductFiles.load(root: configuration.root, environment: configuration.processEnvironment)
        let missing = Self.missing(configuration)
        guard let files, missing.isEmpty, let databaseURL = configuration.databaseURL else {
            Console.list(missing + findings)
            throw ExitCode.configuration
        }
        let logger = ProcessLog.bootstrap(level: configuration.logLevel)
        logger.notice("open files", metadata: ["limit": .stringConvertible(FileLimit.raise())])
        let warnings = files.warnings(prices: files.prices.value, tiers: files.tiers.value)
        for warning in configuration.warnings + warnings { logger.warning("configuration", metadata: ["finding": "\(warning)"]) }
        let metrics = PrometheusMetricsFactory(.init(help: MetricHelp.texts))
        metrics.addProcessMetrics()
        metrics.addLogMetrics(of: .standardError)
        MetricsSystem.bootstrap(metrics)
        try await Gateway(configuration, files, databaseURL: databaseURL, logger: logger, metrics: metrics).run()
    }

    /// What a gateway cannot do without.
    static func missing(_ configuration: GatewayConfiguration) -> [String] {
        var missing: [String] = []
        if configuration.databaseURL == nil { missing.append("DATABASE_URL: is required") }
        if configuration.jwtSecret == nil, configuration.jwksURL == nil, configuration.jwksFile == nil {
            missing.append("COACH_JWT_SECRET, COACH_JWKS_URL or COACH_JWKS_FILE: one of them is required")
        }
        if let defect = configuration.stateDirectoryDefect { missing.append("\(SettingKey.stateDirectory.name): \(defect)") }
        return missing
    }
}
