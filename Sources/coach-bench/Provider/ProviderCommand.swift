import ArgumentParser
import Glibc

/// The command `provider`: runs the provider that all proxies of a run connect to.
struct ProviderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provider", abstract: "Answer chat completions with paced, time-stamped tokens.",
        discussion:
            "GET /workload?pace=…&tokens=…&first_ms=…&pack=…&cut=…&rejected=… changes the workload of later answers and returns counters."
    )

    @Option(help: "Address to bind.") var host = "127.0.0.1"
    @Option(help: "Port to bind; 0 picks a free one.") var port: UInt16 = 0
    @Option(help: "Tokens per second in each answer; 0: as fast as the socket accepts them.") var pace = 20.0
    @Option(help: "Tokens in each answer.") var tokens = 400
    @Option(help: "Milliseconds to the first token.") var firstToken = 0
    @Option(help: "Tokens in one write (1 to 64).") var pack = 1

    @Option(help: "Microseconds; tokens that are due within one tick are sent at one wake-up.") var tick = 250
    @Option(help: "A second port, with TLS.") var tlsPort: UInt16?
    @Option(help: "PEM file of the certificate of that port.") var certificate = ""
    @Option(help: "PEM file of its key.") var key = ""

    func run() throws {
        let workload = Workload(pace: pace, tokens: tokens, firstToken: firstToken, pack: min(max(1, pack), AnswerBytes.maximumPack))
        let secure = try tlsPort.map { (port: $0, server: try TLSServer(certificate: certificate, key: key)) }
        let provider = try Provider(
            host: host, port: port, secure: secure, tick: UInt64(max(0, tick)) * 1000, workload: workload,
            fileLimit: Socket.raiseFileLimit())
        Console.write("listening on \(host):\(provider.port)")
        provider.run()
    }
}
