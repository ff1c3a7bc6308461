import ArgumentParser
import Foundation

/// `pass-through`: what `deploy/bench` measures beside the whole gateway. Refuses in production: no turn is saved.
struct PassThroughCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pass-through", abstract: "Run the gateway without a database; nothing is saved. For measurements.",
        shouldDisplay: false)

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.load()
        guard configuration.environment == .development else {
            throw ValidationError("pass-through is refused with COACH_ENV=production: nothing would be saved")
        }
        guard let secret = configuration.jwtSecret else { throw ValidationError("COACH_JWT_SECRET is not set") }
        let (files, findings) = ProductFiles.load(root: configuration.root, environment: configuration.processEnvironment)
        guard let files else {
            Console.list(findings)
            throw ExitCode.configuration
        }
        let logger = ProcessLog.bootstrap(level: configuration.logLevel)
        logger.notice("open files", metadata: ["limit": .stringConvertible(FileLimit.raise())])
        try await PassThrough(configuration, files, secret: secret, logger: logger).run()
    }
}
