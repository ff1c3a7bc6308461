import ArgumentParser
import CoachCore
import CoachStore
import Foundation

/// `check`: everything that is wrong with the configuration, at once, before anything is started.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Validate configuration, domains, prompts, deploy files and the database; list every finding.")

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let findings = try await findings()
        guard findings.isEmpty else {
            Console.error(findings.map { "- \($0)" }.joined(separator: "\n"))
            throw ExitCode.failure
        }
        Console.say("no findings")
    }

    private func findings() async throws -> [String] {
        let environment = ProcessInfo.processInfo.environment
        let (configuration, wrong) = try options.read()
        var findings = wrong
        // Without a typed configuration the files can still be looked at.
        if let root = configuration?.root ?? DataFolders.find(environment[SettingKey.root.name]) {
            findings += ProductFiles.load(root: root, environment: environment).findings
        }
        if let configuration {
            findings += ServeCommand.missing(configuration)
            if let url = configuration.databaseURL { findings += await Self.databaseFindings(url, root: configuration.root) }
        }
        return findings
    }

    private static func databaseFindings(_ url: String, root: URL) async -> [String] {
        do {
            let newest = try DatabaseProbe.newestVersion(in: root.appendingPathComponent("db/migrations"))
            let report = try await OwnerDatabase.with(url) { try await DatabaseProbe(client: $0).report() }
            var findings: [String] = []
            if let finding = report.schemaFinding(needed: newest) { findings.append(finding) }
            if report.bypassesRowSecurity {
                findings.append("DATABASE_URL: role \(report.role) bypasses row-level security: log in as coach_gateway")
            }
            if !report.canActAsUser { findings.append("DATABASE_URL: role \(report.role) is no member of 'authenticated'") }
            return findings
        } catch StoreFault.unavailable {
            return ["DATABASE_URL: the database cannot be reached"]
        } catch {
            return ["DATABASE_URL: \(error)"]
        }
    }
}
