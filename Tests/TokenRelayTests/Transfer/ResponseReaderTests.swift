import Testing

@testable import TokenRelay

@Suite("ResponseReader")
struct ResponseReaderTests {
    /// The result of a response that is read in pieces.
    private struct Told: Equatable {
        var heads: [TransferHead] = []
        var body = ""
        var isComplete = false
        var mayReuse = false
    }

    private func read(_ response: String, pieces: Int = .max, thenClose: Bool = false) throws -> Told {
        var reader = ResponseReader()
        var told = Told()
        var rest = Array(response.utf8)[...]
        var body: [UInt8] = []
        while !rest.isEmpty {
            var piece = Array(rest.prefix(pieces))
            rest = rest.dropFirst(piece.count)
            let count = try piece.withUnsafeMutableBytes { try reader.read($0) { told.heads.append($0) } }
            body += piece[..<count]
        }
        if thenClose { _ = reader.close() }
        told.body = String(decoding: body, as: UTF8.self)
        told.isComplete = reader.isComplete
        told.mayReuse = reader.mayReuse
        return told
    }

    private static let chunked =
        "HTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nX-A:  b \r\n\r\n"
        + "5;ext=1\r\nhello\r\n0B\r\n, it's me, \r\n1\r\n!\r\n0\r\nT: x\r\n\r\n"

    @Test("a response is read the same in pieces of any size", arguments: 1...200)
    func everyCut(pieces: Int) throws {
        let whole = Told(
            heads: [TransferHead(status: 200, headers: [.init("transfer-encoding", "Chunked"), .init("x-a", "b")])],
            body: "hello, it's me, !", isComplete: true, mayReuse: true)
        #expect(try read(Self.chunked, pieces: pieces) == whole)
    }

    @Test("a response is not complete before its last byte")
    func prefixes() throws {
        for count in 1..<Self.chunked.utf8.count {
            #expect(try !read(String(decoding: Self.chunked.utf8.prefix(count), as: UTF8.self), thenClose: true).isComplete)
        }
    }

    @Test(
        "the framing decides where the body ends",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", true, true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: Close\r\n\r\nabc", "abc", true, false),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcX", "abc", true, false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", true, false),
            ("HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", "abc", true, true),
            ("HTTP/1.1 204 No\r\n\r\n", "", true, true),
            ("HTTP/1.1 304 No\r\nContent-Length: 10\r\n\r\n", "", true, true),
            ("HTTP/1.1 200 OK\r\n\r\nabc", "abc", false, false),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "abc", true, true),
            ("HTTP/1.1 200\r\nContent-Length:3\t\r\n\r\nabc", "abc", true, true),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding:\tchunked\r\n\r\n003 ;a=b\r\nabc\r\n0  \r\n\r\n", "abc", true, true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "ab", false, false),
        ])
    func framing(_ response: String, _ body: String, _ isComplete: Bool, _ mayReuse: Bool) throws {
        let told = try read(response)
        #expect((told.body, told.isComplete, told.mayReuse) == (body, isComplete, mayReuse))
    }

    @Test("a response without framing is complete when the peer closes, any other is not")
    func untilClose() throws {
        #expect(try read("HTTP/1.1 200 OK\r\n\r\nabc", thenClose: true).isComplete)
        #expect(try !read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", thenClose: true).isComplete)
        #expect(try !read("HTTP/1.1 200 OK\r\n", thenClose: true).isComplete)
    }

    @Test(
        "a malformed response, or one with two framings, is rejected",
        arguments: [
            "SSH-2.0-OpenSSH\r\n", "HTTP/2 200\r\n", "HTTP/1.1 2\r\n", "HTTP/1.1 abc\r\n", "\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
            "HTTP/1.1 200 OK\r\n" + String(repeating: "x", count: 70_000),
        ])
    func malformed(_ response: String) {
        for pieces in [1, 7, Int.max] {
            #expect(throws: HeadReader.Malformed.self) { try read(response, pieces: pieces) }
        }
    }

    @Test(
        "an ambiguous head is rejected (RFC 9112)",
        arguments: [
            // §5.1, §5.2, §5.5: names, folded lines, control characters.
            "Content-Length : 5", "Content-Length\t: 5", " Content-Length: 5", "A: b\r\n folded", "A: b\r\n\tfolded", "no colon",
            ": no name",
            "A B: c", "Ä: b", "A: b\u{0}c", "A: b\rContent-Length: 5", "A: b\u{8}", "A(b): c",
            // §6.2, RFC 9110 §8.6: lengths.
            "Content-Length: +5", "Content-Length: -5", "Content-Length: 5,5", "Content-Length: 0x5", "Content-Length: 5 5",
            "Content-Length:",
            "Content-Length: 99999999999999999999", "Content-Length: 5\r\nContent-Length: 6", "Content-Length: ５",
            // §6.1: transfer codings.
            "Transfer-Encoding: chunked\r\nContent-Length: 5", "Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: gzip",
            "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, gzip",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: xchunked", "Transfer-Encoding:", "Transfer-Encoding: \"chunked\"",
        ])
    func ambiguous(_ fields: String) {
        for pieces in [1, 7, Int.max] {
            #expect(throws: HeadReader.Malformed.self) { try read("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\nhello", pieces: pieces) }
        }
    }

    @Test(
        "a status line has a version, a space and three digits",
        arguments: [
            "HTTP/1.1  200 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 20 OK", "HTTP/1.1 +20 OK", "HTTP/1.1 099 OK", "HTTP/1.1x200 OK",
            "HTTP/1.2 200 OK",
            "HTTP/1.12 200 OK", "http/1.1 200 OK", " HTTP/1.1 200 OK", "HTTP/1.1 200OK",
        ])
    func statusLine(_ line: String) {
        #expect(throws: HeadReader.Malformed.self) { try read("\(line)\r\nContent-Length: 0\r\n\r\n") }
    }

    @Test("transfer codings in HTTP/1.0, and a switch of protocols, are rejected")
    func versions() {
        #expect(throws: HeadReader.Malformed.self) { try read("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") }
        #expect(throws: HeadReader.Malformed.self) { try read("HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n") }
    }

    @Test(
        "chunk sizes and their extensions are bounded",
        arguments: [
            "5x", "+5", "-5", "0x5", "5 5", " 5", ";a", "", "1000000000000000", "0000000000000005",
            "5;" + String(repeating: "x", count: 300), "5 \r;", "5" + String(repeating: " ", count: 300),
        ])
    func chunkSizes(_ size: String) {
        for pieces in [1, 7, Int.max] {
            #expect(throws: HeadReader.Malformed.self) {
                try read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\nhello\r\n0\r\n\r\n", pieces: pieces)
            }
        }
    }

    @Test("fields are bounded in number and size, in the head and in the trailers, and so are interim responses")
    func bounds() throws {
        func fields(_ count: Int) -> String { (0..<count).map { "H\($0): v\r\n" }.joined() }
        func head(_ fields: String) -> String { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(fields)\r\n" }
        func whole(_ fields: String, trailers: String) -> String { head(fields) + "0\r\n\(trailers)\r\n" }
        let most = HeadReader.mostFields
        #expect(try read(whole(fields(most - 1), trailers: fields(most))).isComplete)
        #expect(throws: HeadReader.Malformed.self) { try read(head(fields(most))) }
        #expect(throws: HeadReader.Malformed.self) { try read(whole("", trailers: fields(most + 1))) }
        #expect(throws: HeadReader.Malformed.self) { try read(whole("", trailers: "no colon\r\n")) }
        let long = (0..<5).map { "L\($0): \(String(repeating: "x", count: 8000))\r\n" }.joined()
        #expect(throws: HeadReader.Malformed.self) { try read(head(long)) }
        #expect(throws: HeadReader.Malformed.self) { try read(whole("", trailers: long)) }
        let interim = "HTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
        let final = "HTTP/1.1 204 No\r\n\r\n"
        #expect(try read(String(repeating: interim, count: HeadReader.mostInterims) + final).isComplete)
        #expect(throws: HeadReader.Malformed.self) { try read(String(repeating: interim, count: HeadReader.mostInterims + 1)) }
    }

    @Test(
        "the peer's idle limit is read from Keep-Alive",
        arguments: [
            ("timeout=5", 5), ("timeout=5, max=100", 5), ("max=100,Timeout=7", 7), ("timeout=0", 0), ("timeout=x", nil),
            ("timeout=-1", nil),
            ("max=5", nil), ("timeout=99999999999", nil),
        ] as [(String, Int?)])
    func keepAlive(_ value: String, _ seconds: Int?) throws {
        var reader = ResponseReader()
        var bytes = Array("HTTP/1.1 204 No\r\nKeep-Alive: \(value)\r\n\r\n".utf8)
        _ = try bytes.withUnsafeMutableBytes { try reader.read($0) { _ in } }
        #expect(reader.mayReuse && reader.keepAlive == seconds.map { .seconds($0) })
    }
}
