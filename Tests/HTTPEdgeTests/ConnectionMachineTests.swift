import Foundation
import GatewayAPI
import Hummingbird
import NIOCore
import NIOHTTP1
import Testing

@testable import HTTPEdge

@Suite("ConnectionMachine")
struct ConnectionMachineTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private let limits = ConnectionLimits()

    private func machine() -> ConnectionMachine { ConnectionMachine(limits, now: start) }

    /// A request whose head and body arrived in one read and were forwarded.
    private func request(
        _ machine: inout ConnectionMachine, length: Int? = 0, closes: Bool = false, isWhole: Bool = true, at now: NIODeadline
    ) {
        machine.bytesArrived(500)
        #expect(machine.headArrived(nil, closes: closes, length: length, now: now) == .forward)
        if isWhole { #expect(machine.requestEnded(now: now) == .forward) }
        #expect(machine.bytesDecoded(isBlank: false, endsHead: true, now: now) == .none)
    }

    private func answer(_ machine: inout ConnectionMachine, at now: NIODeadline) -> ConnectionMachine.Action {
        _ = machine.answerBegan(closes: false)
        return machine.answerEnded(now: now)
    }

    @Test("a new connection without input is closed after 10 s, an idle one after 75 s, without an answer")
    func idle() {
        var machine = machine()
        #expect(machine.deadline == start + .seconds(10))
        #expect(machine.timeout(now: start + .seconds(9)) == .none)
        #expect(machine.timeout(now: start + .seconds(10)) == .close)
        machine = self.machine()
        request(&machine, at: start + .seconds(1))
        #expect(machine.deadline == nil)
        #expect(answer(&machine, at: start + .seconds(2)) == .none)
        #expect(machine.deadline == start + .seconds(77))
        #expect(machine.timeout(now: start + .seconds(77)) == .close)
    }

    @Test("a slow head fails 10 s after the connection, later 10 s after its first byte; empty lines do not begin one")
    func slowHead() {
        var machine = machine()
        machine.bytesArrived(3)
        #expect(machine.bytesDecoded(isBlank: false, endsHead: true, now: start + .seconds(5)) == .none)
        #expect(machine.timeout(now: start + .seconds(10)) == .reject(.headTooSlow))
        machine = self.machine()
        request(&machine, at: start)
        #expect(answer(&machine, at: start) == .none)
        machine.bytesArrived(2)
        #expect(machine.bytesDecoded(isBlank: true, endsHead: true, now: start + .seconds(20)) == .none)
        #expect(machine.deadline == start + .seconds(75))
        machine.bytesArrived(3)
        #expect(machine.bytesDecoded(isBlank: false, endsHead: true, now: start + .seconds(30)) == .none)
        #expect(machine.timeout(now: start + .seconds(40)) == .reject(.headTooSlow))
    }

    @Test("a head that begins in the same read as a whole request fails 10 s after that")
    func slowHeadAfterRequest() {
        var machine = machine()
        machine.bytesArrived(500)
        #expect(machine.headArrived(nil, closes: false, length: 0, now: start + .seconds(1)) == .forward)
        #expect(machine.requestEnded(now: start + .seconds(1)) == .forward)
        #expect(machine.bytesDecoded(isBlank: false, endsHead: false, now: start + .seconds(1)) == .none)
        #expect(answer(&machine, at: start + .seconds(2)) == .none)
        #expect(machine.timeout(now: start + .seconds(13)) == .reject(.headTooSlow))
    }

    @Test("a slow body fails its request, whose answer is the last")
    func slowBody() {
        var machine = machine()
        request(&machine, length: 10, isWhole: false, at: start)
        #expect(machine.bodyArrived(5) == .forward)
        #expect(machine.timeout(now: start + .seconds(20)) == .failBody(.bodyTooSlow))
        #expect(machine.deadline == nil && !machine.isReading)
        #expect(machine.answerBegan(closes: false) == true)
        #expect(machine.answerEnded(now: start) == .finish)
    }

    @Test("the rest of an unread body is drained when it is small, otherwise the connection ends")
    func unreadBody() {
        for (length, isKept) in [(100, true), (limits.drainedBody, true), (limits.drainedBody + 1, false), (nil, false)] as [(Int?, Bool)] {
            var machine = machine()
            request(&machine, length: length, isWhole: false, at: start)
            #expect(machine.answerBegan(closes: false) != isKept, "\(length ?? -1)")
            #expect(machine.answerEnded(now: start) == (isKept ? .none : .finish))
            if isKept { #expect(machine.timeout(now: start + .seconds(20)) == .close) }
        }
    }

    @Test("the framing of chunks is limited: a long size line, or a chunk for each byte, fails")
    func chunks() {
        var machine = machine()
        request(&machine, length: nil, isWhole: false, at: start)
        for _ in 0..<100_000 {
            machine.bytesArrived(6)
            #expect(machine.bodyArrived(1) == .forward)
            #expect(machine.bytesDecoded(isBlank: false, endsHead: true, now: start) == .none)
        }
        for read in 1...9 {
            machine.bytesArrived(1024)
            let action = machine.bytesDecoded(isBlank: false, endsHead: true, now: start)
            #expect(action == (read == 9 ? .failBody(.malformed) : .none))
        }
    }

    @Test("pipelined requests are answered in order, and a fault after all of them")
    func deferred() {
        var machine = machine()
        request(&machine, at: start)
        request(&machine, at: start)
        #expect(machine.headArrived(.host, closes: false, length: 0, now: start) == .none)
        #expect(!machine.isReading && machine.deadline == nil)
        #expect(answer(&machine, at: start) == .none)
        #expect(answer(&machine, at: start) == .reject(.host))
    }

    @Test("only the last answer has Connection: close, and no request is read after it")
    func last() {
        var machine = machine()
        request(&machine, at: start)
        request(&machine, closes: true, at: start)
        #expect(machine.headArrived(nil, closes: false, length: 0, now: start) == .none)
        #expect(machine.answerBegan(closes: false) == false)
        #expect(machine.answerEnded(now: start) == .none)
        #expect(machine.answerBegan(closes: false) == true)
        #expect(machine.answerEnded(now: start) == .finish)
    }

    @Test("input after the last answer is discarded for 2 s and up to 1 MiB, then the connection is closed")
    func linger() {
        var machine = machine()
        machine.finishes(now: start)
        // A slow reader still gets its last answer completely.
        #expect(machine.isEnding && !machine.discards && machine.inputEnded() == .none)
        machine.finished(now: start)
        #expect(machine.isEnding && machine.discards && machine.deadline == start + .seconds(2))
        machine.discarded(1 << 20)
        #expect(!machine.discards && machine.isEnding)
        #expect(machine.timeout(now: start + .seconds(2)) == .close)
        #expect(machine.inputEnded() == .close)
    }

    /// A connection whose channel holds 60,000 bytes of answers, and the socket's buffer 100,000, of 200,000.
    private func blocked() -> ConnectionMachine {
        var machine = machine()
        for _ in 0..<300 { request(&machine, at: start) }
        machine.bytesWritten(200_000)
        machine.outputObserved(held: 60_000, unacknowledged: 100_000, now: start)
        return machine
    }

    @Test("a client that takes nothing of its answers is reset after 75 s, also when more are written")
    func takesNothing() {
        var machine = blocked()
        for seconds in stride(from: Int64(5), to: 75, by: 5) {
            #expect(machine.deadline == start + .seconds(seconds))
            machine.bytesWritten(250)
            machine.outputObserved(held: 60_000 + 50 * Int(seconds), unacknowledged: 100_000, now: start + .seconds(seconds))
            #expect(machine.timeout(now: start + .seconds(seconds)) == .none)
        }
        #expect(machine.deadline == start + .seconds(75))
        #expect(machine.timeout(now: start + .seconds(75)) == .reset)
    }

    @Test("a client that takes a byte within each 75 s stays, also when more than that is written")
    func takesLittle() {
        var machine = blocked()
        for turn in 1...100 {
            let now = start + .seconds(Int64(turn) * 74)
            machine.bytesWritten(250)
            machine.outputObserved(held: 60_000 + 250 * turn, unacknowledged: 100_000 - turn, now: now)
            #expect(machine.timeout(now: now) == .none)
        }
        let last = start + .seconds(7400)
        machine.outputObserved(held: 85_000, unacknowledged: 99_900, now: last + .seconds(75))
        #expect(machine.timeout(now: last + .seconds(75)) == .reset)
    }

    @Test("bytes that move from the channel to the socket's buffer are no progress of the client")
    func movesOnly() {
        var machine = blocked()
        machine.outputObserved(held: 10_000, unacknowledged: 150_000, now: start + .seconds(70))
        #expect(machine.timeout(now: start + .seconds(75)) == .reset)
    }

    @Test("a client that takes its last answer is not idle before the channel has none of it")
    func takesLastAnswer() {
        var machine = machine()
        request(&machine, at: start)
        machine.bytesWritten(200_000)
        #expect(answer(&machine, at: start) == .none)
        machine.outputObserved(held: 60_000, unacknowledged: 100_000, now: start)
        machine.outputObserved(held: 60_000, unacknowledged: 50_000, now: start + .seconds(60))
        #expect(machine.timeout(now: start + .seconds(100)) == .none)
        machine.outputObserved(held: 0, unacknowledged: 50_000, now: start + .seconds(120))
        #expect(!machine.hasPendingOutput && machine.deadline == start + .seconds(195))
        #expect(machine.timeout(now: start + .seconds(195)) == .close)
    }

    @Test("while the client takes nothing, a slow head still fails after 10 s, and its answer has 75 s of its own")
    func slowHeadWhileBlocked() {
        var machine = machine()
        request(&machine, at: start)
        machine.bytesWritten(200_000)
        #expect(answer(&machine, at: start) == .none)
        machine.outputObserved(held: 60_000, unacknowledged: 100_000, now: start)
        machine.bytesArrived(3)
        #expect(machine.bytesDecoded(isBlank: false, endsHead: true, now: start + .seconds(1)) == .none)
        machine.outputObserved(held: 60_000, unacknowledged: 99_000, now: start + .seconds(11))
        #expect(machine.timeout(now: start + .seconds(11)) == .reject(.headTooSlow))
        machine.finishes(now: start + .seconds(11))
        #expect(machine.timeout(now: start + .seconds(85)) == .none)
        #expect(machine.timeout(now: start + .seconds(86)) == .reset)
    }

    @Test("the last answer of a connection may take long, but not without progress")
    func lastAnswer() {
        var machine = machine()
        request(&machine, closes: true, at: start)
        machine.bytesWritten(200_000)
        #expect(machine.answerBegan(closes: false) == true)
        #expect(machine.answerEnded(now: start) == .finish)
        machine.finishes(now: start)
        machine.outputObserved(held: 60_000, unacknowledged: 100_000, now: start)
        #expect(machine.deadline == start + .seconds(5))
        machine.outputObserved(held: 60_000, unacknowledged: 90_000, now: start + .seconds(70))
        #expect(machine.timeout(now: start + .seconds(144)) == .none)
        #expect(machine.timeout(now: start + .seconds(145)) == .reset)
        machine.finished(now: start + .seconds(145))
        #expect(!machine.hasPendingOutput && machine.deadline == start + .seconds(147))
    }

    @Test("another writer's client has no limit here")
    func detached() {
        var machine = blocked()
        machine.detached()
        machine.outputObserved(held: 60_000, unacknowledged: 100_000, now: start)
        #expect(machine.deadline == nil && machine.timeout(now: start + .hours(1)) == .none)
    }

    @Test("the limits match those in Sources/GatewayAPI/README.md")
    func documented() throws {
        let document = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources/GatewayAPI/README.md")
        let table = try String(contentsOf: document, encoding: .utf8)
        func seconds(_ time: TimeAmount) -> String { "\(time.nanoseconds / 1_000_000_000) s" }
        let rows = [
            "target, header names and values together | \(limits.headBytes / 1024) KiB", "header fields | \(limits.headFields)",
            "body | \(Request.maximumBodyBytes / 1024) KiB",
            "sizes, extensions and trailers around a chunked body | \(limits.chunkOverhead / 1024) KiB, and \(limits.chunkOverheadPerPiece) bytes",
            "head, from the connection, later from its first byte | \(seconds(limits.head))",
            "body, from its head | \(seconds(limits.body))",
            "idle connection | \(seconds(limits.idle))", "`message` | \(ChatRequest.messageLimit / 1000),000 Unicode scalars",
        ]
        for row in rows { #expect(table.contains("| \(row)"), "\(row)") }
    }

    @Test(
        "an ambiguous head is rejected",
        arguments: [
            ([("Host", "a")], .http1_1, nil), ([("Host", "[::1]:8080")], .http1_1, nil), ([("Host", "")], .http1_1, .host),
            ([("Host", ":80")], .http1_1, .host),
            ([], .http1_1, .host), ([], .http1_0, nil), ([("Host", "a"), ("Host", "a")], .http1_1, .host),
            ([("host", "a"), ("HOST", "b")], .http1_0, .host), ([("Host", "a/b")], .http1_1, .host), ([("Host", "a b")], .http1_1, .host),
            ([("Host", "u@a")], .http1_1, .host), ([("Host", "a:80b")], .http1_1, .host), ([("Host", "a:")], .http1_1, nil),
            ([("Host", "[::1")], .http1_1, .host), ([("Host", "[::1]a")], .http1_1, .host), ([("Host", "a:1:2")], .http1_1, .host),
            ([("Host", "[a.example]")], .http1_1, .host), ([("Host", "[]")], .http1_1, .host),
            ([("Host", "127.0.0.1:8080")], .http1_1, nil),
            ([("Host", "a"), ("Transfer-Encoding", "chunked")], .http1_1, nil),
            ([("Host", "a"), ("Transfer-Encoding", "Chunked")], .http1_1, nil),
            ([("Host", "a"), ("Transfer-Encoding", "chunked")], .http1_0, .transferEncoding),
            ([("Host", "a"), ("Transfer-Encoding", "gzip, chunked")], .http1_1, .transferCoding),
            ([("Host", "a"), ("Transfer-Encoding", "gzip"), ("Transfer-Encoding", "chunked")], .http1_1, .transferCoding),
            ([("Host", "a"), ("Transfer-Encoding", "chunked, chunked")], .http1_1, .transferEncoding),
            ([("Host", "a"), ("Transfer-Encoding", "")], .http1_1, .transferEncoding),
            ([("Host", "a"), ("Transfer-Encoding", "chunked"), ("Content-Length", "5")], .http1_1, .transferEncoding),
        ] as [([(String, String)], HTTPVersion, RequestFault?)])
    func heads(fields: [(String, String)], version: HTTPVersion, fault: RequestFault?) {
        #expect(RequestFault(in: HTTPRequestHead(version: version, method: .POST, uri: "/", headers: HTTPHeaders(fields))) == fault)
    }
}
