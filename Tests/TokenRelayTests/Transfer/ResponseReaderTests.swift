import Testing

@testable import TokenRelay

@Suite("Reading responses")
struct ResponseReaderTests {
    /// What a response said, read in pieces.
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

    @Test("however a response is cut, it is read the same", arguments: 1...200)
    func everyCut(pieces: Int) throws {
        let whole = Told(
            heads: [TransferHead(status: 200, headers: [.init("transfer-encoding", "Chunked"), .init("x-a", "b")])],
            body: "hello, it's me, !", isComplete: true, mayReuse: true)
        #expect(try read(Self.chunked, pieces: pieces) == whole)
    }

    @Test("a response is not whole before its last byte")
    func prefixes() throws {
        for count in 1..<Self.chunked.utf8.count {
            #expect(try !read(String(decoding: Self.chunked.utf8.prefix(count), as: UTF8.self), thenClose: true).isComplete)
        }
    }

    @Test(
        "the end is where the framing says",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", true, true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: Close\r\n\r\nabc", "abc", true, false),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcX", "abc", true, false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", true, false),
            ("HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", "abc", true, true),
            ("HTTP/1.1 204 No\r\n\r\n", "", true, true),
            ("HTTP/1.1 304 No\r\nContent-Length: 10\r\n\r\n", "", true, true),
            ("HTTP/1.1 200 OK\r\n\r\nabc", "abc", false, false),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc", "abc", false, false),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "", true, true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "ab", false, false),
        ])
    func framing(_ response: String, _ body: String, _ isComplete: Bool, _ mayReuse: Bool) throws {
        let told = try read(response)
        #expect((told.body, told.isComplete, told.mayReuse) == (body, isComplete, mayReuse))
    }

    @Test("what lasts until the peer closes is whole then, and nothing else is")
    func untilClose() throws {
        #expect(try read("HTTP/1.1 200 OK\r\n\r\nabc", thenClose: true).isComplete)
        #expect(try !read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", thenClose: true).isComplete)
        #expect(try !read("HTTP/1.1 200 OK\r\n", thenClose: true).isComplete)
    }

    @Test(
        "what is no response, or two in one, is refused",
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

    @Test("headers beyond the bounds are dropped, their framing is not")
    func bounds() throws {
        let many = (0..<1000).map { "H\($0): v\r\n" }.joined()
        let told = try read("HTTP/1.1 200 OK\r\n\(many)Content-Length: 2\r\n\r\nok")
        #expect(told.heads.first?.headers.count == HeadReader.mostHeaders)
        #expect(told.isComplete && told.body == "ok")
    }
}
