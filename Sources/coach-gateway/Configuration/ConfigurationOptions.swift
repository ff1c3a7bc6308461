import ArgumentParser
import Foundation

/// What every command that reads the configuration takes.
struct ConfigurationOptions: ParsableArguments {
    @Option(name: .long, help: "A JSON object whose members are named like the environment variables; the environment wins.")
    var config: String?

    /// The typed configuration, or an exit with every finding.
    func load() throws -> GatewayConfiguration {
        let (configuration, findings) = try read()
        guard let configuration else {
            Console.list(findings)
            throw ExitCode.configuration
        }
        return configuration
    }

    /// The configuration, or what is wrong with it.
    func read() throws -> (configuration: GatewayConfiguration?, findings: [String]) {
        let environment = ProcessInfo.processInfo.environment
        var file: Data?
        if let config {
            guard let data = FileManager.default.contents(atPath: config) else {
                return (nil, ["--config: \(config) cannot be read"])
            }
            file = data
        }
        return GatewayConfiguration.read(Settings(environment: environment, file: file), environment: environment)
    }
}

extension GatewayConfiguration {
    /// The connection of the schema's owner, for commands that change the database.
    func ownerURL() throws -> String {
        guard let migrationURL else { throw ValidationError("COACH_MIGRATION_URL or DATABASE_URL is required") }
        return migrationURL
    }
}

extension ExitCode {
    /// EX_CONFIG of sysexits.h: the configuration is wrong.
    static let configuration = ExitCode(78)
}
