import CoachCore
import Glibc
import Reactor
import RelayTestSupport
import Synchronization
import TestSupport
import Testing

@testable import TokenRelay

@Suite("StreamWriter")
struct StreamWriterTests {
    @Test("ten subscribers of one turn each receive the whole answer and the end")
    func tenSubscribers() async throws {
        let bench = try StreamBench()
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        let clients = try (0..<10).map { _ in try bench.subscribe(turn) }
        let words = (0..<200).map { "wörd\($0) " }
        for word in words { script.send(word) }
        script.end(.stop)
        turn.close(.sample)
        for client in clients {
            #expect(await client.end() == .complete)
            #expect(client.readAll() == "<" + words.joined() + ">")
        }
        bench.reactor.stop()
    }

    @Test("pieces are written as they arrive, before the turn has ended")
    func live() async throws {
        let bench = try StreamBench()
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        let client = try bench.subscribe(turn)
        client.read(until: "<")
        for word in ["one", "two", "three"] {
            script.send(word)
            client.read(until: word)
        }
        script.end(.stop)
        turn.close(.sample)
        #expect(await client.end() == .complete)
        bench.reactor.stop()
    }

    @Test("a client that reads slowly receives everything")
    func slow() async throws {
        let bench = try StreamBench()
        let text = String(repeating: "0123456789abcdef", count: 64 * 1024)
        let turn = LiveTurn(replaying: .sample, content: text, ending: .sample)
        let client = try bench.subscribe(turn)
        #expect(client.readAll(pieces: 4096) == "<" + text + ">")
        #expect(await client.end() == .complete)
        bench.reactor.stop()
    }

    @Test("the stream of a client that reads nothing ends as stalled")
    func stalled() async throws {
        let bench = try StreamBench(StreamLimits(silence: .milliseconds(20), stall: .milliseconds(50)))
        let turn = LiveTurn(replaying: .sample, content: String(repeating: "x", count: 1 << 20), ending: .sample)
        let client = try bench.subscribe(turn)
        #expect(await client.end() == .stalled)
        bench.reactor.stop()
    }

    @Test("a silent stream gets heartbeats")
    func heartbeats() async throws {
        let bench = try StreamBench(StreamLimits(silence: .milliseconds(20)))
        let client = try bench.subscribe(LiveTurn(facts: .sample))
        client.read(until: "<..")
        client.hangUp()
        #expect(await client.end() == .gone)
        bench.reactor.stop()
    }

    @Test("a stream that is handed over ends with the retry event and without terminal events")
    func handOver() async throws {
        let bench = try StreamBench()
        let client = try bench.subscribe(LiveTurn(facts: .sample))
        client.read(until: "<")
        client.subscriber.notify(.handOver)
        #expect(await client.end() == .handedOver)
        #expect(client.readAll() == "!")
        bench.reactor.stop()
    }

    @Test("a client that disconnects ends its stream at once, also a silent one; the turn continues")
    func broken() async throws {
        let bench = try StreamBench()
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        let client = try bench.subscribe(turn)
        client.read(until: "<")
        client.hangUp()
        #expect(await client.end() == .gone)
        script.send("more")
        script.send(" and more")
        #expect(turn.releasedBytes == 13)
        bench.reactor.stop()
    }

    @Test("a client that has closed its sending side receives everything")
    func halfClosed() async throws {
        let bench = try StreamBench()
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        let client = try bench.subscribe(turn)
        client.read(until: "<")
        client.sendNoMore()
        client.read(until: ".")
        script.send("more")
        script.end(.stop)
        turn.close(.sample)
        #expect(await client.end() == .complete)
        #expect(client.readAll() == "more>")
        bench.reactor.stop()
    }

    @Test("the last chunk and the end of the connection come once each")
    func ends() async throws {
        let bench = try StreamBench()
        let client = try bench.subscribe(LiveTurn(replaying: .sample, content: "text", ending: .sample))
        #expect(await client.end() == .complete)
        #expect(client.readAll() == "<text>" && client.isWhole && client.endings == 1)
        try await eventually { bench.streamLoop.count == 0 }
        bench.reactor.stop()
    }

    @Test("a response to HTTP/1.0 has no chunks and ends with the connection")
    func unchunked() async throws {
        let bench = try StreamBench()
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        let client = try bench.subscribe(turn, isChunked: false)
        script.send("more")
        script.send(" and more")
        script.end(.stop)
        turn.close(.sample)
        #expect(await client.end() == .complete)
        #expect(client.readAllRaw() == "<more and more>")
        bench.reactor.stop()
    }

    @Test("the stream of a client that disconnected before it began ends once, and sets no timer")
    func goneBefore() async throws {
        let bench = try StreamBench(StreamLimits(silence: .milliseconds(20)))
        let gone = try bench.subscribe(LiveTurn(facts: .sample), hangsUpFirst: true)
        #expect(await gone.end() == .gone)
        // Its timer would fire before this one's.
        let later = try bench.subscribe(LiveTurn(facts: .sample))
        later.read(until: "<.")
        #expect(gone.endings == 1 && bench.streamLoop.count == 1)
        later.hangUp()
        bench.reactor.stop()
    }

    @Test("input of a client during the stream is discarded, and too much of it ends the stream")
    func input() async throws {
        let bench = try StreamBench(StreamLimits(silence: .seconds(600)))
        let turn = LiveTurn(facts: .sample)
        let (quiet, flooding) = (try bench.subscribe(turn), try bench.subscribe(turn))
        for client in [quiet, flooding] { client.read(until: "<") }
        quiet.sendBytes(100)
        flooding.sendBytes(10 << 20)
        try await eventually { bench.streamLoop.count == 1 }
        turn.close(.sample)
        #expect(quiet.readAll() == ">" && quiet.isWhole)
        bench.reactor.stop()
    }

    @Test("handOver ends all streams with the retry event")
    func handOverAll() async throws {
        let bench = try StreamBench()
        let clients = try (0..<3).map { _ in try bench.subscribe(LiveTurn(facts: .sample)) }
        #expect(bench.streamLoop.count == 3)
        bench.streamLoop.handOver()
        for client in clients { #expect(client.readAll() == "<!" && client.isWhole) }
        try await eventually { bench.streamLoop.count == 0 }
        bench.reactor.stop()
    }

    @Test("a stream that has ended releases its turn")
    func released() async throws {
        let bench = try StreamBench()
        weak var turn: LiveTurn?
        do {
            let whole = LiveTurn(replaying: .sample, content: "text", ending: .sample)
            turn = whole
            #expect(try await bench.subscribe(whole).end() == .complete)
        }
        try await eventually { turn == nil }
        bench.reactor.stop()
    }

    @Test("a subscriber with deliversAtEnd receives no text before the end, and then all of it")
    func deliveredAtEnd() async throws {
        let bench = try StreamBench()
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        let client = try bench.subscribe(turn, deliversAtEnd: true)
        client.read(until: "<")
        script.send("all of ")
        script.send("it")
        script.end(.stop)
        turn.close(.sample)
        #expect(await client.end() == .complete)
        #expect(client.readAll() == "all of it>")
        #expect(client.chunks == 3)
        bench.reactor.stop()
    }

    /// What happens to many streams at the same time.
    enum Load: CaseIterable {
        case deliveredAtEnd, handOver
    }

    @Test(
        "writing to 256 streams at the same time delays other work of the thread, and tokens of another stream, by less than 5 ms",
        arguments: Load.allCases)
    func manyWriters(_ load: Load) async throws {
        // No heartbeats during the test.
        let bench = try StreamBench(StreamLimits(silence: .seconds(600), stall: .seconds(600)))
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        let clients = try (0..<256).map { _ in try bench.subscribe(turn, deliversAtEnd: true, limit: 256) }
        for client in clients { client.read(until: "<") }
        script.send(String(repeating: "0123456789abcdef", count: 4 * 1024))
        let (probe, stream) = (ThreadProbe(bench.reactor), try ProbeStream(bench.reactor))
        try await eventually { probe.rounds > 10 && stream.tokens > 10 }
        probe.reset()
        stream.reset()
        switch load {
        case .deliveredAtEnd:
            script.end(.stop)
            // In one submission, so that all writers are signalled without other work between.
            bench.reactor.submit { turn.close(.sample) }
        case .handOver: bench.streamLoop.handOver()
        }
        for client in clients { #expect(await client.end() == (load == .handOver ? .handedOver : .complete)) }
        try await eventually { stream.tokens > 1 }
        #expect(probe.longest < .milliseconds(5), "\(probe.longest)")
        #expect(stream.longest < .milliseconds(5), "\(stream.longest)")
        let text = load == .handOver ? "!" : String(repeating: "0123456789abcdef", count: 4 * 1024) + ">"
        for client in clients { #expect(client.readAll() == text) }
        bench.reactor.stop()
    }
}
