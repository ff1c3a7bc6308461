import ArgumentParser
import CoachClient
import Foundation
import GatewayAPI
import JSON

/// `chat`: a conversation in the terminal, over the same SDK that apps use.
struct ChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat", abstract: "Talk to a gateway from the terminal, streaming.",
        discussion: """
            The token is taken from --token or COACH_TOKEN. Each line is a message, or one of the commands /new, /retry, /help and /quit. \
            Ctrl-C stops an answer that is coming; a second one leaves.
            """)

    @Option(help: "Where the gateway is.") var url = "http://127.0.0.1:8080"
    @Option(help: "Access token; default COACH_TOKEN.") var token: String?
    @Option(help: "Go on with this conversation.") var conversation: String?
    @Option(help: "Pin one of the seven domains.") var domain: String?
    @Option(help: "Say this one message, and leave.") var message: String?

    func run() async throws {
        guard let base = URL(string: url), base.host != nil else { throw ValidationError("--url: '\(url)' is not a URL") }
        guard let token = token ?? ProcessInfo.processInfo.environment["COACH_TOKEN"], !token.isEmpty else {
            throw ValidationError("no token: give --token or set COACH_TOKEN (coach-gateway token makes one for development)")
        }
        let id = try conversation.map { text in
            guard let id = UUID(canonical: text) else { throw ValidationError("--conversation is not a UUID") }
            return id
        }
        var session = ChatSession(
            client: CoachClient(baseURL: base) { token }, url: url, domain: domain, conversation: id, interrupts: ChatInterrupts())
        if let message {
            guard await session.send(message) else { throw ExitCode.failure }
            return
        }
        Console.prompt()
        while let line = readLine() {
            switch ChatInput(line) {
            case .nothing: break
            case .message(let message): await session.send(message)
            case .new: session.reset()
            case .retry: await session.retry()
            case .help: Console.writeLine(ChatInput.helpText)
            case .quit: return
            case .unknown(let command): Console.writeLine("\(command) is no command; /help lists them")
            }
            Console.prompt()
        }
    }
}
