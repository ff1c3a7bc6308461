import CoachCore
import Glibc
import Reactor
import Synchronization
import TestSupport
import Testing

@testable import TokenRelay

@Suite("Lines to clients")
struct StreamWriterTests {
    @Test("ten followers of one turn all read the whole answer while it is spoken, and the end")
    func tenFollowers() async throws {
        let bench = try LineBench()
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        let clients = try (0..<10).map { _ in try bench.follow(turn) }
        let words = (0..<200).map { "wörd\($0) " }
        for word in words { script.say(word) }
        script.end(.stop)
        turn.close(.sample)
        for client in clients {
            #expect(await client.end() == .complete)
            #expect(client.readAll() == "<" + words.joined() + ">")
        }
        bench.reactor.stop()
    }

    @Test("what comes in pieces goes out in pieces, before the turn has ended")
    func live() async throws {
        let bench = try LineBench()
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        let client = try bench.follow(turn)
        client.read(until: "<")
        for word in ["one", "two", "three"] {
            script.say(word)
            client.read(until: word)
        }
        script.end(.stop)
        turn.close(.sample)
        #expect(await client.end() == .complete)
        bench.reactor.stop()
    }

    @Test("a client that reads slowly gets everything, and holds at most one write in memory")
    func slow() async throws {
        let bench = try LineBench()
        let text = String(repeating: "0123456789abcdef", count: 64 * 1024)
        let turn = LiveTurn(replaying: .sample, content: text, ending: .sample)
        let client = try bench.follow(turn)
        #expect(client.readAll(pieces: 4096) == "<" + text + ">")
        #expect(await client.end() == .complete)
        bench.reactor.stop()
    }

    @Test("a client that reads nothing is cut off")
    func stalled() async throws {
        let bench = try LineBench(StreamLimits(silence: .milliseconds(20), stall: .milliseconds(50)))
        let turn = LiveTurn(replaying: .sample, content: String(repeating: "x", count: 1 << 20), ending: .sample)
        let client = try bench.follow(turn)
        #expect(await client.end() == .stalled)
        bench.reactor.stop()
    }

    @Test("a silent line gets heartbeats")
    func heartbeats() async throws {
        let bench = try LineBench(StreamLimits(silence: .milliseconds(20)))
        let client = try bench.follow(LiveTurn(facts: .sample))
        client.read(until: "<..")
        client.hangUp()
        #expect(await client.end() == .gone)
        bench.reactor.stop()
    }

    @Test("a client that is handed over is told so, and the line is closed without an end")
    func handOver() async throws {
        let bench = try LineBench()
        let client = try bench.follow(LiveTurn(facts: .sample))
        client.read(until: "<")
        client.subscriber.notify(.handOver)
        #expect(await client.end() == .handedOver)
        #expect(client.readAll() == "!")
        bench.reactor.stop()
    }

    @Test("a client that has left ends its line at once, also a silent one; the turn goes on")
    func broken() async throws {
        let bench = try LineBench()
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        let client = try bench.follow(turn)
        client.read(until: "<")
        client.hangUp()
        #expect(await client.end() == .gone)
        script.say("more")
        script.say(" and more")
        #expect(turn.releasedBytes == 13)
        bench.reactor.stop()
    }

    @Test("a client that sends no more, and still reads, is told all")
    func halfClosed() async throws {
        let bench = try LineBench()
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        let client = try bench.follow(turn)
        client.read(until: "<")
        client.sendNoMore()
        client.read(until: ".")
        script.say("more")
        script.end(.stop)
        turn.close(.sample)
        #expect(await client.end() == .complete)
        #expect(client.readAll() == "more>")
        bench.reactor.stop()
    }

    @Test("the line ends response and connection, each once")
    func ends() async throws {
        let bench = try LineBench()
        let client = try bench.follow(LiveTurn(replaying: .sample, content: "text", ending: .sample))
        #expect(await client.end() == .complete)
        #expect(client.readAll() == "<text>" && client.isWhole && client.endings == 1)
        try await eventually { bench.lines.count == 0 }
        bench.reactor.stop()
    }

    @Test("a client of HTTP/1.0 gets the same bytes without chunks, until the connection ends")
    func unchunked() async throws {
        let bench = try LineBench()
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        let client = try bench.follow(turn, isChunked: false)
        script.say("more")
        script.say(" and more")
        script.end(.stop)
        turn.close(.sample)
        #expect(await client.end() == .complete)
        #expect(client.readAllRaw() == "<more and more>")
        bench.reactor.stop()
    }

    @Test("a client that is gone before its line begins is told nothing, then or later")
    func goneBefore() async throws {
        let bench = try LineBench(StreamLimits(silence: .milliseconds(20)))
        let gone = try bench.follow(LiveTurn(facts: .sample), hangsUpFirst: true)
        #expect(await gone.end() == .gone)
        // Its timer would have been due before this one's.
        let later = try bench.follow(LiveTurn(facts: .sample))
        later.read(until: "<.")
        #expect(gone.endings == 1 && bench.lines.count == 1)
        later.hangUp()
        bench.reactor.stop()
    }

    @Test("what a client sends meanwhile is discarded, and one that goes on and on is cut off")
    func chatter() async throws {
        let bench = try LineBench(StreamLimits(silence: .seconds(600)))
        let turn = LiveTurn(facts: .sample)
        let (polite, flooding) = (try bench.follow(turn), try bench.follow(turn))
        for client in [polite, flooding] { client.read(until: "<") }
        polite.say(100)
        flooding.say(10 << 20)
        try await eventually { bench.lines.count == 1 }
        turn.close(.sample)
        #expect(polite.readAll() == ">" && polite.isWhole)
        bench.reactor.stop()
    }

    @Test("all clients are handed over at once, and nobody is left")
    func handOverAll() async throws {
        let bench = try LineBench()
        let clients = try (0..<3).map { _ in try bench.follow(LiveTurn(facts: .sample)) }
        #expect(bench.lines.count == 3)
        bench.lines.handOver()
        for client in clients { #expect(client.readAll() == "<!" && client.isWhole) }
        try await eventually { bench.lines.count == 0 }
        bench.reactor.stop()
    }

    @Test("a line that has ended lets go of its turn")
    func letsGo() async throws {
        let bench = try LineBench()
        weak var turn: LiveTurn?
        do {
            let whole = LiveTurn(replaying: .sample, content: "text", ending: .sample)
            turn = whole
            #expect(try await bench.follow(whole).end() == .complete)
        }
        try await eventually { turn == nil }
        bench.reactor.stop()
    }

    @Test("a patient follower hears nothing before the end, and then all of it")
    func patient() async throws {
        let bench = try LineBench()
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        let client = try bench.follow(turn, deliversAtEnd: true)
        client.read(until: "<")
        script.say("all of ")
        script.say("it")
        script.end(.stop)
        turn.close(.sample)
        #expect(await client.end() == .complete)
        #expect(client.readAll() == "all of it>")
        #expect(client.chunks == 3)
        bench.reactor.stop()
    }

    /// What is done for many lines at once.
    enum Crowd: CaseIterable {
        case patientReaders, handOver
    }

    @Test(
        "a crowd of lines that are told something at the same moment keeps the streams of others waiting for less than 5 ms",
        arguments: Crowd.allCases)
    func crowd(_ crowd: Crowd) async throws {
        // No heartbeat, however busy the machine is.
        let bench = try LineBench(StreamLimits(silence: .seconds(600), stall: .seconds(600)))
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        let clients = try (0..<256).map { _ in try bench.follow(turn, deliversAtEnd: true, limit: 256) }
        for client in clients { client.read(until: "<") }
        script.say(String(repeating: "0123456789abcdef", count: 4 * 1024))
        let probe = ThreadProbe(bench.reactor)
        try await eventually { probe.rounds > 10 }
        probe.reset()
        switch crowd {
        case .patientReaders:
            script.end(.stop)
            // As one message: nothing between the bells.
            bench.reactor.submit { turn.close(.sample) }
        case .handOver: bench.lines.handOver()
        }
        for client in clients { #expect(await client.end() == (crowd == .handOver ? .handedOver : .complete)) }
        #expect(probe.longest < .milliseconds(5), "\(probe.longest)")
        let text = crowd == .handOver ? "!" : String(repeating: "0123456789abcdef", count: 4 * 1024) + ">"
        for client in clients { #expect(client.readAll() == text) }
        bench.reactor.stop()
    }
}

/// Lines over socket pairs.
private final class LineBench {
    let reactor: Reactor
    let lines: StreamLoop

    init(_ limits: StreamLimits = StreamLimits()) throws {
        reactor = try Reactor(name: "lines")
        reactor.start()
        lines = StreamLoop(reactor: reactor, limits: limits)
    }

    func follow(
        _ turn: LiveTurn, deliversAtEnd: Bool = false, isChunked: Bool = true, hangsUpFirst: Bool = false, limit: Int = 16
    ) throws -> LineClient {
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &pair) == 0)
        let client = LineClient(descriptor: pair[0], subscriber: Subscriber(deliversAtEnd: deliversAtEnd))
        #expect(turn.add(client.subscriber, limit: limit))
        if hangsUpFirst { client.hangUp() }
        lines.open(
            StreamRequest(
                turn, subscriber: client.subscriber, from: Cursor(after: 0), format: PlainFormat(), descriptor: pair[1],
                isChunked: isChunked, onEnd: client.ends.finish))
        return client
    }
}

/// What arrives at a client, without the chunks' sizes.
private final class LineClient {
    let subscriber: Subscriber
    let ends = Ending()
    private(set) var chunks = 0
    /// Whether the chunk came that says that there are no more.
    private(set) var isWhole = false
    private let descriptor: Int32
    private var isOpen = true
    private var raw: [UInt8] = []

    init(descriptor: Int32, subscriber: Subscriber) {
        self.descriptor = descriptor
        self.subscriber = subscriber
    }

    deinit { hangUp() }

    func hangUp() {
        if isOpen { close(descriptor) }
        isOpen = false
    }

    func sendNoMore() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Bytes of no meaning, as many of them as the line takes before it ends.
    func say(_ count: Int) {
        var left = count
        while left > 0 {
            let bytes = [UInt8](repeating: 0, count: min(left, 64 * 1024))
            let sent = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            guard sent > 0 else { return }
            left -= sent
        }
    }

    func end() async -> StreamResult { await ends.value() }

    /// How often the line's host was told.
    var endings: Int { ends.count }

    func read(until word: String) {
        var text = ""
        while !text.hasSuffix(word), receive(64 * 1024) { text += decoded() }
    }

    func readAll(pieces: Int = 64 * 1024) -> String {
        while receive(pieces) {}
        return decoded()
    }

    /// For a line without chunks.
    func readAllRaw() -> String {
        while receive(64 * 1024) {}
        return String(decoding: raw, as: UTF8.self)
    }

    private func receive(_ count: Int) -> Bool {
        var buffer = [UInt8](repeating: 0, count: count)
        let received = recv(descriptor, &buffer, count, 0)
        guard received > 0 else { return false }
        raw += buffer[..<received]
        return true
    }

    /// The whole chunks received; none may be left cut at the end of a line.
    private func decoded() -> String {
        var text: [UInt8] = []
        var rest = raw[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\r")),
            let size = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16), rest.count >= end - rest.startIndex + size + 4
        {
            text += rest[(end + 2)..<(end + 2 + size)]
            rest = rest[(end + 2 + size + 2)...]
            if size > 0 { chunks += 1 } else { isWhole = true }
        }
        raw = Array(rest)
        return String(decoding: text, as: UTF8.self)
    }
}

private final class Ending: Sendable {
    private let state = Mutex<(end: StreamResult?, count: Int, waiter: CheckedContinuation<StreamResult, Never>?)>((nil, 0, nil))

    var count: Int { state.withLock { $0.count } }

    func finish(_ end: StreamResult) {
        state.withLock { state in
            state.end = end
            state.count += 1
            return state.waiter.take()
        }?.resume(returning: end)
    }

    func value() async -> StreamResult {
        await withCheckedContinuation { continuation in
            state.withLock { state -> StreamResult? in
                if state.end == nil { state.waiter = continuation }
                return state.end
            }.map { continuation.resume(returning: $0) }
        }
    }
}

private struct PlainFormat: StreamFormat {
    func appendOpeningEvents(into output: inout [UInt8]) { output += "<".utf8 }
    func appendText(_ piece: UnsafeBufferPointer<UInt8>, cursor: Int, into output: inout [UInt8]) { output += piece }
    func appendTerminalEvents(_ ending: TurnEnding, keptBytes: Int, cursor: Int, into output: inout [UInt8]) { output += ">".utf8 }
    func appendHeartbeat(into output: inout [UInt8]) { output += ".".utf8 }
    func appendRetry(into output: inout [UInt8]) { output += "!".utf8 }
}

extension TurnEnding {
    static var sample: TurnEnding { TurnEnding(status: .complete, finishReason: .stop, bill: nil) }
}
