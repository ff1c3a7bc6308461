import ArgumentParser
import ProviderSimulator
import ServiceLifecycle

/// `simulate-llm`: a provider of language models on loopback in the real wire format, which plays scripts.
struct SimulateLLMCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate-llm", abstract: "Run the provider simulator.",
        discussion: "Speaks the wire formats of all dialects. Faults are scripted by request; see its README.")

    @Option(help: "Address to bind.") var host = "127.0.0.1"
    @Option(help: "Port to bind; 0 picks a free one.") var port = 8090
    @Option(help: "The only key that is accepted; any by default.") var key: String?

    /// A larger number would be taken without its upper bits.
    func validate() throws {
        guard (0...65535).contains(port) else { throw ValidationError("--port: \(port) is not a port") }
    }

    func run() async throws {
        let server = SimulatorServer(configuration: .init(host: host, port: port, key: key))
        let host = host
        let service = AnnouncedSimulator(server: server) { port in Console.writeLine("listening on \(host):\(port)") }
        let group = ServiceGroup(
            configuration: .init(services: [service], gracefulShutdownSignals: [.sigterm, .sigint], logger: .init(label: "simulate-llm")))
        try await group.run()
    }
}

private struct AnnouncedSimulator: Service {
    let server: SimulatorServer
    let announce: @Sendable (Int) -> Void
    func run() async throws { try await server.run { announce($0) } }
}
