import ArgumentParser

/// `version`: what this is.
struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "version", abstract: "Print the version.")

    /// The product's version; the interface has its own (`X-API-Version`).
    static let current = "0.1.0"

    func run() { Console.writeLine("coach-gateway \(Self.current)") }
}
