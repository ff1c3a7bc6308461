import Testing

@testable import TokenRelay

@Suite("HeadReader")
struct HeadReaderTests {
    func read(_ lines: String...) -> [TransferHead] {
        var reader = HeadReader()
        return lines.compactMap { line in Array(line.utf8).withUnsafeBytes { reader.line($0) } }
    }

    @Test("a head is told when its empty line arrives, names in lower case")
    func plain() {
        let heads = read("HTTP/1.1 429 Too Many\r\n", "Retry-After: 2 \r\n", "X-Empty:\r\n", "broken\r\n", "\r\n")
        #expect(heads == [TransferHead(status: 429, headers: [.init("retry-after", "2"), .init("x-empty", "")])])
        #expect(heads[0]["retry-after"] == "2")
        #expect(heads[0]["none"] == nil)
        #expect(read("HTTP/2 200 \r\n", "\r\n") == [TransferHead(status: 200)])
        #expect(read("HTTP/1.0 204 x\n", "\n") == [TransferHead(status: 204)])
    }

    @Test("interim responses and trailers are not reported")
    func interim() {
        let heads = read(
            "HTTP/1.1 103 Early Hints\r\n", "Link: a\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "A: b\r\n", "\r\n", "Trailer: x\r\n", "\r\n")
        #expect(heads == [TransferHead(status: 200, headers: [.init("a", "b")])])
    }

    @Test("headers beyond the bounds are dropped")
    func bounds() {
        var reader = HeadReader()
        func line(_ text: String) -> TransferHead? { Array(text.utf8).withUnsafeBytes { reader.line($0) } }
        _ = line("HTTP/1.1 200 OK\r\n")
        _ = line("big: \(String(repeating: "x", count: HeadReader.mostBytes))\r\n")
        for index in 0..<200 { _ = line("h\(index): v\r\n") }
        #expect(line("\r\n")?.headers.count == 0)
        reader = HeadReader()
        _ = line("HTTP/1.1 200 OK\r\n")
        for index in 0..<200 { _ = line("h\(index): v\r\n") }
        #expect(line("\r\n")?.headers.count == HeadReader.mostHeaders)
    }

    @Test("hosts of this machine are recognised, look-alikes are not")
    func loopback() {
        for url in [
            "http://localhost:1/x", "https://LOCALHOST", "http://127.0.0.1:8080/v1", "http://127.9.9.9", "http://[::1]:80/",
            "http://a.localhost/",
        ] {
            #expect(LoopbackAddress.isHost(of: url), "\(url)")
        }
        for url in [
            "http://127.0.0.1.evil.org", "http://example.org/localhost", "http://localhost@evil.org/", "127.0.0.1", "http://128.0.0.1",
            "http://127.evil",
        ] {
            #expect(!LoopbackAddress.isHost(of: url), "\(url)")
        }
    }
}
