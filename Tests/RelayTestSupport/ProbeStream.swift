import CoachCore
import Glibc
import Reactor
import Synchronization
import TestSupport
import TokenRelay

/// A stream beside a load: one token after another, each of which is timed from the model to its client's socket.
package final class ProbeStream: Sendable {
    /// What a delay is measured in.
    package enum Clock: Sendable {
        /// The thread's own processor time, as `ThreadProbe` does: what the thread did between the two.
        case processor
        /// Waits included: for locks, and for a processor on a busy machine.
        case elapsed

        var now: Duration {
            switch self {
            case .processor: threadProcessorTime()
            case .elapsed: elapsedTime()
            }
        }
    }

    package struct NoSocket: Error {
        package var code: Int32
    }

    private struct State {
        var emit: LanguageModel.Receiver?
        var sentAt: Duration?
        var longest = Duration.zero
        var tokens = 0
    }

    private let reactor: Reactor
    private let clock: Clock
    private let streamLoop: StreamLoop
    private let client: Int32
    private let state = Mutex(State())

    /// Runs until the reactor stops. The turn is in no registry, as those are that have ended or run on other instances.
    package init(_ reactor: Reactor, _ streamLoop: StreamLoop? = nil, clock: Clock = .processor) throws {
        self.reactor = reactor
        self.clock = clock
        var pair: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
            throw NoSocket(code: errno)
        }
        client = pair[0]
        self.streamLoop =
            streamLoop ?? StreamLoop(reactor: reactor, limits: StreamLimits(silence: .seconds(600), stall: .seconds(600)))
        let (turn, subscriber) = (LiveTurn(facts: .probe), Subscriber(deliversAtEnd: false))
        turn.generate(with: model, Prompt(messages: [], maximumOutputTokens: 1))
        _ = turn.add(subscriber, limit: 1)
        self.streamLoop.open(
            StreamRequest(
                turn, subscriber: subscriber, from: Cursor(after: 0), format: TextFormat(), descriptor: pair[1], isChunked: true,
                onEnd: { _ in }))
        reactor.submit {
            _ = try? reactor.watch(self.client, .read) { _ in self.received() }
            self.send()
        }
    }

    deinit { close(client) }

    /// The longest delay of a token.
    package var longest: Duration { state.withLock { $0.longest } }
    package var tokens: Int { state.withLock { $0.tokens } }

    package func reset() { state.withLock { ($0.longest, $0.tokens) = (.zero, 0) } }

    private var model: LanguageModel {
        LanguageModel(firstChoice: ModelName(provider: "test", model: "test")) { [self] _, _, emit in
            state.withLock { $0.emit = emit }
            return Generation {}
        }
    }

    private func send() {
        let emit = state.withLock { state in
            state.sentAt = clock.now
            return state.emit
        }
        Array("x".utf8).withUnsafeBufferPointer { _ = emit?(ModelUpdate(text: $0)) }
    }

    private func received() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        recv(client, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        let now = clock.now
        let isToken = state.withLock { state in
            guard let sentAt = state.sentAt.take() else { return false }
            state.longest = max(state.longest, now - sentAt)
            state.tokens += 1
            return true
        }
        if isToken { reactor.schedule(after: .milliseconds(1)) { self.send() } }
    }
}

/// The text alone. Each event has a byte, because an empty chunk would end the response.
private struct TextFormat: StreamFormat {
    func appendOpeningEvents(into output: inout [UInt8]) { output += "<".utf8 }
    func appendText(_ piece: UnsafeBufferPointer<UInt8>, cursor: Int, into output: inout [UInt8]) { output += piece }
    func appendTerminalEvents(_ ending: TurnEnding, keptBytes: Int, cursor: Int, into output: inout [UInt8]) { output += ">".utf8 }
    func appendHeartbeat(into output: inout [UInt8]) { output += ".".utf8 }
    func appendRetry(into output: inout [UInt8]) { output += "!".utf8 }
}

extension TurnFacts {
    fileprivate static var probe: TurnFacts {
        TurnFacts(
            userID: .random(),
            identity: TurnIdentity(
                turnID: .random(), conversationID: .random(), userMessageID: .random(), messageID: .random(), attempt: 1),
            day: CalendarDay(unixSeconds: 0), domain: DomainDecision(domain: .mindset, confidence: 1, source: .pinned), personaID: nil,
            model: ModelName(provider: "test", model: "test"), risk: .calm, region: .unknown)
    }
}
