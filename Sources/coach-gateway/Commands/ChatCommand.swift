import ArgumentParser
import CoachClient
import Foundation
import GatewayAPI

/// `chat`: a conversation in the terminal, over the same SDK that apps use.
struct ChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat", abstract: "Talk to a gateway from the terminal, streaming.",
        discussion: """
            The token is taken from --token or COACH_TOKEN. Each line is a message; /new begins another conversation, /quit or end of \
            input leaves.
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
        var session = ChatSession(client: CoachClient(baseURL: base) { token }, domain: domain)
        if let conversation {
            guard let id = UUID(uuidString: conversation) else { throw ValidationError("--conversation is not a UUID") }
            session.conversation = id
        }
        if let message {
            guard await session.say(message) else { throw ExitCode.failure }
            return
        }
        Console.prompt()
        while let line = readLine() {
            switch line.trimmingCharacters(in: .whitespaces) {
            case "": break
            case "/quit": return
            case "/new": session.conversation = nil
            default: await session.say(line)
            }
            Console.prompt()
        }
    }
}

/// One talk: which conversation it is in, and how answers are shown.
private struct ChatSession {
    let client: CoachClient
    let domain: String?
    var conversation: UUID?

    init(client: CoachClient, domain: String?) {
        self.client = client
        self.domain = domain
    }

    /// Sends a message and shows the answer while it comes. False when it failed.
    @discardableResult
    mutating func say(_ message: String) async -> Bool {
        do {
            for try await event in client.send(message, conversation: conversation, domain: domain) { show(event) }
            return true
        } catch let error as CoachError {
            Console.say("\n\(error.userMessage)\n(\(error.message))")
        } catch {
            Console.say("\n\(error)")
        }
        return false
    }

    private mutating func show(_ event: StreamEvent) {
        switch event {
        case .start(let start):
            conversation = start.conversationID
            Console.write("[\(start.domain ?? "open")] ")
        case .safety(let card):
            Console.say("\n\(card.message)")
            for resource in card.resources {
                let ways = [resource.phone, resource.sms, resource.url].compactMap { $0 }.joined(separator: " · ")
                Console.say("  \(resource.name): \(ways)")
            }
            Console.say("")
        case .token(let content): Console.write(content)
        case .usage: break
        case .done(let done): Console.say(done.finishReason == .stop ? "" : " (\(done.finishReason.rawValue))")
        case .error(let failure): Console.say("\n\(failure.userMessage)")
        }
    }
}

extension Console {
    /// Without a line end, and at once: tokens are shown as they come.
    static func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

    /// Only people need one.
    static func prompt() { if isatty(STDIN_FILENO) == 1 { write("\n> ") } }
}
