import ArgumentParser
import CoachCore
import CoachStore
import Foundation
import OutboundHTTP
import PostgresClient

/// `check`: everything that is wrong with the configuration, at once, before anything is started.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Validate configuration, domains, prompts, deploy files and the database; list every finding.")

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let findings = try await findings()
        // A finding in production.
        if let configuration = try options.read().configuration, configuration.environment == .development,
            let notice = configuration.webhookNotice
        {
            Console.writeLine("note: \(notice)")
        }
        guard findings.isEmpty else {
            Console.list(findings)
            throw ExitCode.failure
        }
        Console.writeLine("no findings")
    }

    private func findings() async throws -> [String] {
        let environment = ProcessInfo.processInfo.environment
        let (configuration, wrong) = try options.read()
        var findings = wrong
        var product: (files: ProductFiles, documents: EditableDocuments)?
        // Without a typed configuration the files can still be looked at.
        if let root = configuration?.root ?? DataFolders.find(environment[SettingKey.root.name]) {
            let environment = configuration?.processEnvironment ?? environment
            let (files, unfit) = ProductFiles.load(root: root, environment: environment)
            findings += unfit
            product = files.map { ($0, EditableDocuments($0)) }
        }
        if let configuration {
            findings += ServeCommand.missing(configuration) + configuration.warnings
            findings += try await Self.keyFindings(configuration)
            findings += await Self.databaseFindings(configuration, product?.documents)
        }
        // Last, because the database may have edited prices and tiers.
        if let (files, documents) = product {
            findings += files.warnings(prices: documents.prices.current, tiers: documents.tiers.current)
        }
        return findings
    }

    private static func keyFindings(_ configuration: GatewayConfiguration) async throws -> [String] {
        let client = try OutboundHTTPClient(configuration.outbound)
        defer { client.shutDown() }
        var findings: [String] = []
        for keys in [try configuration.userKeys(client), try configuration.webhooks.googleKeys(client)] {
            findings += await keys?.findings() ?? []
        }
        return findings
    }

    private static func databaseFindings(_ configuration: GatewayConfiguration, _ documents: EditableDocuments?) async -> [String] {
        guard let url = configuration.databaseURL else { return [] }
        var findings = await reachable(.databaseURL, url, configuration.statements) { client in
            let newest = try DatabaseProbe.newestVersion(in: configuration.root.appendingPathComponent("db/migrations"))
            let findings = Self.findings(try await DatabaseProbe(client: client).report(), newest: newest)
            // A schema that does not fit may have no queue and no documents.
            guard findings.isEmpty else { return findings }
            let edited = try await DocumentCheck(client: client, types: documents?.types ?? []).run()
            for note in edited.notes { Console.writeLine("note: \(note)") }
            return try await Self.deadJobs(client) + edited.findings
        }
        if let listen = configuration.databaseListenURL, listen != url {
            findings += await reachable(.databaseListenURL, listen, configuration.statements) { client in
                try await client.execute("select 1")
                return []
            }
        }
        return findings
    }

    private static func findings(_ report: DatabaseProbe.Report, newest: String) -> [String] {
        var findings: [String] = []
        if let finding = report.schemaFinding(needed: newest) { findings.append(finding) }
        if report.isReadOnly { findings.append("DATABASE_URL: the server takes no writes, as a standby: name the primary") }
        if report.bypassesRowSecurity {
            findings.append("DATABASE_URL: role \(report.role) bypasses row-level security: log in as coach_gateway")
        } else if let finding = report.settingsFinding {
            findings.append(finding)
        }
        if !report.canActAsUser { findings.append("DATABASE_URL: role \(report.role) is no member of 'authenticated'") }
        return findings
    }

    private static func deadJobs(_ client: PostgresClient) async throws -> [String] {
        try await JobQueue(client: client, instance: UUID()).figures().filter { $0.dead > 0 }.map {
            "database: \($0.dead) dead jobs of kind \($0.kind): see \"Dead jobs\" in deploy/README.md"
        }
    }

    /// What `look` finds, or why it cannot look.
    private static func reachable(
        _ key: SettingKey, _ url: String, _ statements: StatementNaming, _ look: (PostgresClient) async throws -> [String]
    ) async -> [String] {
        do {
            return try await CommandDatabase.with(url, statements: statements, look)
        } catch let error as PostgresError {
            return ["\(key.name): \(DatabaseFinding.text(error))"]
        } catch {
            return ["\(key.name): \(error)"]
        }
    }
}
