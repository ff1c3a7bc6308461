import CoachCore
import Glibc
import Reactor
import Synchronization
import TestSupport
import Testing

@testable import TokenRelay

/// A stream beside a load: one token after another, each of which is timed from the model to its client's socket.
///
/// It counts the thread's own processor time, as `ThreadProbe` does: what the thread did between the two.
final class ProbeStream: Sendable {
    private struct State {
        var sentAt: Duration?
        var longest = Duration.zero
        var tokens = 0
    }

    private let reactor: Reactor
    private let script = ScriptedModel()
    private let streamLoop: StreamLoop
    private let client: Int32
    private let state = Mutex(State())

    /// Runs until the reactor stops.
    init(_ reactor: Reactor) throws {
        self.reactor = reactor
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &pair) == 0)
        client = pair[0]
        streamLoop = StreamLoop(reactor: reactor, limits: StreamLimits(silence: .seconds(600), stall: .seconds(600)))
        let (turn, subscriber) = (LiveTurn(facts: .sample), Subscriber(deliversAtEnd: false))
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        #expect(turn.add(subscriber, limit: 1))
        streamLoop.open(
            StreamRequest(
                turn, subscriber: subscriber, from: Cursor(after: 0), format: PlainFormat(), descriptor: pair[1], isChunked: true,
                onEnd: { _ in }))
        reactor.submit {
            _ = try? reactor.watch(self.client, .read) { _ in self.received() }
            self.send()
        }
    }

    deinit { close(client) }

    /// The longest delay of a token.
    var longest: Duration { state.withLock { $0.longest } }
    var tokens: Int { state.withLock { $0.tokens } }

    func reset() { state.withLock { ($0.longest, $0.tokens) = (.zero, 0) } }

    private func send() {
        state.withLock { $0.sentAt = threadProcessorTime() }
        script.send("x")
    }

    private func received() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        recv(client, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        let now = threadProcessorTime()
        let isToken = state.withLock { state in
            guard let sentAt = state.sentAt.take() else { return false }
            state.longest = max(state.longest, now - sentAt)
            state.tokens += 1
            return true
        }
        if isToken { reactor.schedule(after: .milliseconds(1)) { self.send() } }
    }
}
