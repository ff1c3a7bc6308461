import Benchmark
import CoachCore
import GatewayAPI
import TokenRelay

/// From a model's news to the bytes for a follower: the turn's lock, machine and answer, the bell, the cursor, the encoder. No socket.
let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock, .instructions], warmupIterations: 10, scalingFactor: .kilo, maxDuration: .seconds(1),
        thresholds: [.wallClock: .init(relative: [.p90: 100]), .instructions: .init(relative: [.p90: 5])])

    Benchmark("token-one-follower") { benchmark in
        let bench = RelayBench()
        for _ in benchmark.scaledIterations { bench.say() }
        blackHole(bench.bytes)
    }

    Benchmark("token-1000-turns") { benchmark, benches in
        for index in benchmark.scaledIterations { benches[index % benches.count].say() }
    } setup: {
        (0..<1000).map { _ in RelayBench() }
    }
}

/// One turn and one follower, on one thread.
// SAFETY: a benchmark's body uses it on its own thread alone.
private final class RelayBench: FollowerListener, @unchecked Sendable {
    private let turn: LiveTurn
    private var tell: (@Sendable (ModelNews) -> Void)?
    private var cursor = Cursor(after: 0)
    private var output: [UInt8] = []
    private let token = Array("vielleicht ".utf8)
    private(set) var bytes = 0

    init() {
        let name = ModelName(provider: "bench", model: "bench")
        turn = LiveTurn(
            facts: TurnFacts(
                userID: .random(),
                identity: TurnIdentity(
                    turnID: .random(), conversationID: .random(), userMessageID: .random(), messageID: .random(), attempt: 1),
                domain: DomainDecision(domain: .mindset, confidence: 1, source: .pinned), personaID: nil, model: name, risk: .calm,
                country: nil, locale: nil))
        let follower = Follower()
        _ = turn.add(follower, limit: 1)
        follower.listen(self)
        let model = LanguageModel(firstChoice: name) { [unowned self] _, tell in
            self.tell = tell
            return Generation {}
        }
        turn.generate(with: model, Prompt(messages: [], maximumOutputTokens: 1))
    }

    func say() { token.withUnsafeBufferPointer { tell?(ModelNews(text: $0)) } }

    func heard(_ signal: Follower.Signal) {
        output.removeAll(keepingCapacity: true)
        while turn.step(&cursor, maximum: 8192, read: { StreamEvent.appendToken($0, cursor: $1, into: &output) }) != .waiting {}
        bytes += output.count
    }
}
