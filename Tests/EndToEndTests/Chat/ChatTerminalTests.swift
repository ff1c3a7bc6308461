import Foundation
import TestSupport
import Testing

@Suite("Chat in a terminal", .paced)
struct ChatTerminalTests {
    private func chat(_ testBed: TestBed, user: String = UUID().uuidString.lowercased(), url: String? = nil) throws -> Terminal {
        try Terminal(
            ["chat", "--url", url ?? "http://127.0.0.1:\(testBed.gateway.port)"], environment: ["COACH_TOKEN": Token(user: user).text])
    }

    @Test("answers are wrapped at words, unknown commands are not sent, /retry answers again, /quit exits")
    func commands() async throws {
        let testBed = try await TestBed.shared()
        let (user, word) = (UUID().uuidString.lowercased(), marker())
        let chat = try chat(testBed, user: user)
        try await chat.waits(for: "> ")
        let text = "One two three four five six seven eight nine ten eleven twelve."
        try chat.type("\(word) \(sim(["text": text]))\n")
        // The terminal echoes the input.
        try await chat.waits(for: "twelve.", times: 2)
        let answer = try #require(chat.text.components(separatedBy: "}]]\n").last)
        for line in answer.split(separator: "\n") { #expect(line.count <= 40, "\(line)") }
        #expect(answer.split(whereSeparator: \.isWhitespace).joined(separator: " ").contains(text), "\(answer)")

        try chat.type("/exit\n")
        try await chat.waits(for: "/exit is no command")
        try chat.type("/help\n")
        try await chat.waits(for: "/retry   read on")
        try chat.type("/retry\n")
        try await chat.waits(for: "twelve.", times: 3)
        #expect(try await testBed.database.messages(of: user, role: "user").count == 1)
        #expect(try await testBed.simulator.requests(containing: word).count == 2)
        try chat.type("/quit\n")
        #expect(try await chat.exit() == 0)
    }

    @Test("Ctrl-C stops a running answer; at the prompt it exits")
    func interrupt() async throws {
        let testBed = try await TestBed.shared()
        let user = UUID().uuidString.lowercased()
        let chat = try chat(testBed, user: user)
        try await chat.waits(for: "> ")
        try chat.type("Hello \(sim(["words": 2000, "pace_ms": 20]))\n")
        try await eventually("an answer that has begun in\n\(chat.text)") {
            chat.text.components(separatedBy: "}]]\n").last?.split(separator: " ").count ?? 0 > 5
        }
        try chat.type(Terminal.interrupt)
        try await chat.waits(for: "(stopped)")
        let (turn, _) = try await testBed.database.settledAnswer(of: user)
        #expect(turn["status"] == "stopped")
        try await chat.waits(for: "> ", times: 2)
        try chat.type(Terminal.interrupt)
        #expect(try await chat.exit() == 130)
    }

    @Test("a second Ctrl-C during an answer exits")
    func interruptTwice() async throws {
        // A gateway that never answers, so that the first Ctrl-C cannot stop a turn.
        let silent = try SilentServer()
        let chat = try chat(try await TestBed.shared(), url: "http://127.0.0.1:\(silent.port)")
        try await chat.waits(for: "> ")
        try chat.type("Hello\n")
        try await eventually("a connection") { silent.hasConnection }
        try chat.type(Terminal.interrupt)
        try await chat.waits(for: "stopping")
        try chat.type(Terminal.interrupt)
        #expect(try await chat.exit() == 130)
    }

    @Test("a refused connection prints one line")
    func refused() async throws {
        let chat = try chat(try await TestBed.shared(), url: "http://127.0.0.1:1")
        try await chat.waits(for: "> ")
        try chat.type("Hello\n")
        try await chat.waits(for: "> ", times: 2)
        let lines = chat.text.components(separatedBy: "Hello\n").last?.split(separator: "\n").map(String.init) ?? []
        #expect(lines == ["no connection to http://127.0.0.1:1: is the gateway running there? /retry tries again", "> "])
    }
}

/// A listener that never accepts: the kernel completes the connection, and no answer comes.
private final class SilentServer {
    let port: Int
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 8) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        try #require(isListening)
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }

    /// Whether a connection waits to be accepted.
    var hasConnection: Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, 0) == 1
    }
}
