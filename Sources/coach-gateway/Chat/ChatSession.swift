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
    /// nil before the first message.
    private var again: Again?

    /// What `/retry` does.
    private enum Again {
        /// Sends the message, whose turn never began as far as is known, under the same key: it makes no second turn if it did.
        case send(String, key: UUID)
        /// Asks for another answer, likewise.
        case answer(UUID, key: UUID)
        /// Reads on where the connection was lost.
        case resume(UUID, after: Int)
    }

    init(client: CoachClient, url: String, domain: String?, conversation: UUID?, interrupts: ChatInterrupts) {
        self.client = client
        self.url = url
        self.domain = domain
        self.conversation = conversation
        self.interrupts = interrupts
    }

    /// Begins another conversation.
    mutating func reset() { (conversation, again) = (nil, nil) }

    /// Sends a message and shows the answer while it comes. False when it failed.
    @discardableResult
    mutating func send(_ message: String) async -> Bool {
        again = .send(message, key: .random())
        return await retry()
    }

    /// Reads on what was lost, sends the last message again when it never became a turn, or else asks for another answer to it.
    @discardableResult
    mutating func retry() async -> Bool {
        let (client, conversation, domain) = (client, conversation, domain)
        switch again {
        case nil:
            Console.writeLine("there is no message to answer again")
            return false
        case .send(let message, let key):
            return await show(after: 0) {
                client.send(message, conversation: conversation, domain: domain, clientMessageID: key.canonicalText)
            }
        case .answer(let turn, let key): return await show(after: 0) { client.retry(turn, key: key) }
        case .resume(let turn, let received): return await show(after: received) { client.resume(turn, after: received) }
        }
    }

    /// `received`: the bytes of the answer that were shown before. `request` begins it, once Ctrl-C stops the answer and no longer leaves.
    private mutating func show(after received: Int, _ request: () -> AsyncThrowingStream<StreamEvent, any Error>) async -> Bool {
        let stopper = AnswerStopper(client: client)
        var shown = AnswerText(width: Console.width)
        var (start, failure, received): (StreamStart?, (any Error)?, Int) = (nil, nil, received)
        await interrupts.answering(stop: { stopper.stop() }) {
            do {
                for try await event in request() {
                    if case .start(let begun) = event {
                        start = begun
                        stopper.began(begun.turnID)
                    }
                    if case .token(let content) = event { received += content.utf8.count }
                    Console.write(shown.text(of: event).withoutTerminalControls)
                }
            } catch {
                failure = error
            }
        }
        if let start {
            conversation = start.conversationID
            let isCut = [.unreachable, .connectionLost, .unreadable].contains((failure as? CoachError)?.code)
            again = isCut ? .resume(start.turnID, after: received) : .answer(start.turnID, key: .random())
        }
        if let failure { Console.write((shown.end() + describe(failure) + "\n").withoutTerminalControls) }
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
