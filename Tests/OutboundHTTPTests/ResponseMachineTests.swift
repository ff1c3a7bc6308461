import Testing

@testable import OutboundHTTP

@Suite("ResponseMachine")
struct ResponseMachineTests {
    private func read(_ lines: [String], into machine: inout ResponseMachine) -> [ResponseMachine.Step] {
        lines.map { line in Array("\(line)\r\n".utf8).withUnsafeBytes { machine.line($0) } }
    }

    @Test("the final head is reported once, at its end")
    func head() {
        var machine = ResponseMachine(maximumBodyBytes: 10)
        let steps = read(["HTTP/1.1 200 OK", "Content-Type:  text/plain \t", "X-Two: a:b", ""], into: &machine)
        let head = OutboundResponseHead(status: 200, headers: [.init("content-type", "text/plain"), .init("x-two", "a:b")])
        #expect(steps == [.goOn, .goOn, .goOn, .head(head)])
        #expect(machine.body(byteCount: 4) == (nil, false))
        #expect(read(["HTTP/1.1 500 Trailer", "X-Trailer: 1", ""], into: &machine) == [.goOn, .goOn, .goOn])
    }

    @Test("interim heads are dropped with their fields")
    func interim() {
        var machine = ResponseMachine(maximumBodyBytes: 10)
        let steps = read(["HTTP/1.1 103 Hints", "X-A: 1", "", "HTTP/2 204", "X-B: 2", ""], into: &machine)
        #expect(steps.last == .head(OutboundResponseHead(status: 204, headers: [.init("x-b", "2")])))
        #expect(steps.dropLast().allSatisfy { $0 == .goOn })
    }

    @Test("a proxy's challenge is the final head only when no other head follows")
    func challenge() {
        var followed = ResponseMachine(maximumBodyBytes: 10)
        let steps = read(["HTTP/1.1 407 No", "", "HTTP/1.1 200 OK", ""], into: &followed)
        #expect(steps == [.goOn, .goOn, .goOn, .head(OutboundResponseHead(status: 200))])
        var last = ResponseMachine(maximumBodyBytes: 10)
        _ = read(["HTTP/1.1 407 No", ""], into: &last)
        #expect(last.finish() == OutboundResponseHead(status: 407))
        #expect(last.finish() == nil)
    }

    @Test("the limits count bytes of the body, and of all heads together")
    func limits() {
        var machine = ResponseMachine(maximumBodyBytes: 10)
        _ = read(["HTTP/1.1 200 OK", ""], into: &machine)
        #expect(machine.body(byteCount: 10) == (nil, false))
        #expect(machine.body(byteCount: 1) == (nil, true))
        var heads = ResponseMachine(maximumBodyBytes: 10)
        let filling = String(repeating: "x", count: ResponseMachine.maximumHeadBytes / 2)
        #expect(read(["HTTP/1.1 100 Go on", "X: \(filling)", "", "HTTP/1.1 200 OK", "X: \(filling)"], into: &heads).last == .tooLarge)
    }

    @Test("lines before the first status line are ignored")
    func early() {
        var machine = ResponseMachine(maximumBodyBytes: 10)
        let steps = read(["X-Early: 1", "HTTP/1.1 200 OK", ""], into: &machine)
        #expect(steps.last == .head(OutboundResponseHead(status: 200)))
    }

    @Test(
        "an ambiguous head is rejected (RFC 9112)",
        arguments: [
            ["Content-Length : 5"], [" Content-Length: 5"], ["A: b", " folded"], ["A: b", "\tfolded"], ["no colon"], [": no name"],
            ["A B: c"],
            ["A: b\u{0}c"], ["Content-Length: +5"], ["Content-Length: -5"], ["Content-Length: 5,5"],
            ["Content-Length: 99999999999999999999"],
            ["Content-Length:"], ["Content-Length: 5", "Content-Length: 6"], ["Transfer-Encoding: chunked", "Content-Length: 5"],
            ["Content-Length: 5", "Transfer-Encoding: chunked"], ["Transfer-Encoding: gzip, chunked"], ["Transfer-Encoding: chunked, gzip"],
            ["Transfer-Encoding: gzip"], ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], ["Transfer-Encoding:"],
        ])
    func ambiguous(_ fields: [String]) {
        var machine = ResponseMachine(maximumBodyBytes: 10)
        let steps = read(["HTTP/1.1 200 OK"] + fields, into: &machine)
        #expect(steps.last == .malformed)
        #expect(!steps.dropLast().contains(.malformed))
    }

    @Test("a transfer coding in HTTP/1.0 is rejected, of any letter case accepted in HTTP/1.1")
    func versions() {
        var (old, new) = (ResponseMachine(maximumBodyBytes: 10), ResponseMachine(maximumBodyBytes: 10))
        #expect(read(["HTTP/1.0 200 OK", "Transfer-Encoding: chunked"], into: &old).last == .malformed)
        #expect(read(["HTTP/1.1 200 OK", "Transfer-Encoding: Chunked"], into: &new).last == .goOn)
    }

    @Test("the fields of a head are limited in number")
    func fields() {
        var machine = ResponseMachine(maximumBodyBytes: 10)
        let most = (0..<ResponseMachine.maximumFields).map { "H\($0): v" }
        #expect(read(["HTTP/1.1 200 OK"] + most, into: &machine).last == .goOn)
        #expect(read(["One: more"], into: &machine) == [.malformed])
    }
}

private func == (left: (head: OutboundResponseHead?, isTooLarge: Bool), right: (OutboundResponseHead?, Bool)) -> Bool {
    left.head == right.0 && left.isTooLarge == right.1
}
