import CoachClient
import Foundation
import GatewayAPI
import Synchronization

/// One talk: which conversation it is in, and how answers are shown.
struct ChatSession {
    let client: CoachClient
    let url: String
    let domain: String?
    let interrupts: ChatInterrupts
    var conversation: UUID?
    private var lastTurn: UUID?
    private var lastMessage: String?

    init(client: CoachClient, url: String, domain: String?, conversation: UUID?, interrupts: ChatInterrupts) {
        self.client = client
        self.url = url
        self.domain = domain
        self.conversation = conversation
        self.interrupts = interrupts
    }

    /// Begins another conversation.
    mutating func reset() { (conversation, lastTurn, lastMessage) = (nil, nil, nil) }

    /// Sends a message and shows the answer while it comes. False when it failed.
    @discardableResult
    mutating func send(_ message: String) async -> Bool {
        (lastTurn, lastMessage) = (nil, message)
        return await show(client.send(message, conversation: conversation, domain: domain))
    }

    /// Asks for another answer to the last message; sends it again when it never became a turn.
    mutating func retry() async {
        if let lastTurn {
            await show(client.retry(lastTurn))
        } else if let lastMessage {
            await send(lastMessage)
        } else {
            Console.writeLine("there is no message to answer again")
        }
    }

    @discardableResult
    private mutating func show(_ events: AsyncThrowingStream<StreamEvent, any Error>) async -> Bool {
        let stopper = AnswerStopper(client: client)
        var shown = AnswerText(width: Console.width)
        var (start, failure): (StreamStart?, String?)
        await interrupts.answering(stop: { stopper.stop() }) {
            do {
                for try await event in events {
                    if case .start(let begun) = event {
                        start = begun
                        stopper.began(begun.turnID)
                    }
                    Console.write(shown.text(of: event))
                }
            } catch {
                failure = describe(error)
            }
        }
        if let start { (conversation, lastTurn) = (start.conversationID, start.turnID) }
        if let failure { Console.write(shown.end() + failure + "\n") }
        return failure == nil
    }

    /// One line.
    private func describe(_ error: any Error) -> String {
        guard let error = error as? CoachError else { return "\(error)".split(separator: "\n").first.map(String.init) ?? "failed" }
        switch error.code {
        case .unreachable: return "no connection to \(url): is the gateway running there? /retry tries again"
        default: return "\(error.userMessage) (\(error.message))".replacing("\n", with: " ")
        }
    }
}

/// Stops the turn that is being answered, also one whose id is not known yet.
private final class AnswerStopper: Sendable {
    private let client: CoachClient
    private let state = Mutex<(turn: UUID?, isStopped: Bool)>((nil, false))

    init(client: CoachClient) { self.client = client }

    func stop() { stop { $0.isStopped = true } }

    func began(_ turn: UUID) { stop { $0.turn = turn } }

    private func stop(_ change: (inout (turn: UUID?, isStopped: Bool)) -> Void) {
        let turn = state.withLock { state -> UUID? in
            change(&state)
            return state.isStopped ? state.turn : nil
        }
        guard let turn else { return }
        // Never cancelled: the stream ends when it has worked, and a second Ctrl-C leaves.
        Task { [client] in
            do {
                try await client.stop(turn)
            } catch {
                Console.write("\nthe answer could not be stopped; Ctrl-C leaves\n")
            }
        }
    }
}
