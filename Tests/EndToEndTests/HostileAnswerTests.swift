import Foundation
import TestSupport
import Testing

/// Answers of which the text can be used, but not the rest. One after another: they count the provider's open connections and the gateway's memory.
@Suite("A provider with an odd answer", .serialized, .paced)
struct HostileAnswerTests {
    /// What the provider does with a message of which this is the last word.
    private enum Oddity: String, CaseIterable {
        case usage = "odd-usage"
        case textAfterEnd = "odd-end"
        case endless = "odd-length"
        case invalidText = "odd-bytes"

        func answer(_ request: String, _ connection: RawProvider.Connection) {
            connection.send(RawProvider.Connection.streamHead)
            switch self {
            case .usage:
                // Both counts are what the message has between two bars.
                let parts = request.components(separatedBy: "|")
                let count = parts.count > 2 ? parts[parts.count - 2].replacing("\\\"", with: "\"") : "null"
                connection.sendText("Five words are all here.")
                connection.sendFinish()
                connection.send(#"data: {"choices":[],"usage":{"prompt_tokens":\#(count),"completion_tokens":\#(count)}}"# + "\n\n")
                connection.sendDone()
            case .textAfterEnd:
                connection.sendText("One ")
                connection.sendFinish()
                connection.sendText("two.")
                connection.send(#"data: {"choices":[],"usage":{"prompt_tokens":300,"completion_tokens":4}}"# + "\n\n")
                connection.sendDone()
                while connection.sendText("three") {}
            case .endless:
                connection.sendText("One ")
                connection.sendFinish()
                while connection.sendText("and one more ") {}
            case .invalidText:
                connection.send(
                    bytes: Array(#"data: {"choices":[{"index":0,"delta":{"content":"caf"#.utf8) + [0xC3, 0x28, 0xFF]
                        + Array("!\"}}]}\n\n".utf8))
                connection.sendFinish()
                connection.sendDone()
            }
        }
    }

    /// A gateway with this provider, whose models have prices, and a database of its own.
    private static let fixture = Task {
        let provider = try RawProvider { request, connection in
            Oddity.allCases.first { request.contains($0.rawValue) }?.answer(request, connection)
        }
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: provider.url)
        return (provider: provider, gateway: gateway, database: database)
    }

    private static let absurdCounts = [
        "1000000000000000000", "9223372036854775807", "-9223372036854775808", "99999999999999999999999999", "1e400", "1e18", "-5", "-0.5",
        "1.5",
        "\"12\"", "null", "true", "{}", "[7]", "0",
    ]

    @Test("whose usage is negative, absurd or no number is answered, and billed by an estimate")
    func usage() async throws {
        let (_, gateway, database) = try await Self.fixture.value
        for count in Self.absurdCounts {
            let user = gateway.testUser()
            let answer = try await user.chat("Hello |\(count)| \(Oddity.usage.rawValue)")
            #expect(answer.eventTypes == ["start", "token", "usage", "done"], "\(count): \(answer.text)")
            #expect(answer.content == "Five words are all here." && answer.first("done")?["finish_reason"] == "stop")
            let usage = try #require(answer.first("usage")).fields
            let (input, output) = (usage.number("input_tokens") ?? -1, usage.number("output_tokens") ?? -1)
            #expect(
                usage.flag("estimated") == true && (100...3000).contains(input) && (3...20).contains(output), "\(count): \(answer.text)")
            let row = try #require(try await database.usage(of: user.id).first)
            #expect(row.number("tokens_in") == input && row.number("tokens_out") == output && row.flag("estimated") == true, "\(count)")
            #expect(Decimal(string: row["cost"] ?? "") == Decimal(string: usage["cost_usd"] ?? "-"))
        }
        #expect(try await database.isBalanced())
        let warnings = gateway.log.count { $0["message"]?.contains("cannot be true") == true }
        #expect(warnings > 0, "an operator is told: \(gateway.program.output)")
    }

    @Test("with text after its finish reason: the text is kept; with text after its end: that is not read, and the connection is closed")
    func textAfterEnd() async throws {
        let (provider, gateway, database) = try await Self.fixture.value
        func chat() async throws {
            let user = gateway.testUser()
            let answer = try await user.chat("Hello \(Oddity.textAfterEnd.rawValue)")
            #expect(answer.eventTypes == ["start", "token", "usage", "done"] && answer.content == "One two.", "\(answer.text)")
            let usage = try #require(answer.first("usage")).fields
            #expect(usage.flag("estimated") == false && usage.number("input_tokens") == 300 && usage.number("output_tokens") == 4)
            #expect(try await database.messages(of: user.id, role: "assistant").map { $0["content"] } == ["One two."])
        }
        try await chat()
        let memory = gateway.program.memory
        try memory.forgetPeak()
        let before = try memory.resident()
        for _ in 0..<5 { try await chat() }
        // All connections end: none of the six is still being written to.
        try await eventually("the ends of the connections") { provider.open == 0 }
        let growth = try memory.peak() - before
        #expect(growth < 50 << 20, "\(growth)")
    }

    @Test("with text without end after its finish reason is cut at 64 KiB")
    func endlessAfterFinish() async throws {
        let (provider, gateway, database) = try await Self.fixture.value
        let user = gateway.testUser()
        let answer = try await user.chat("Hello \(Oddity.endless.rawValue)")
        #expect(answer.eventTypes == ["start", "token", "usage", "done"] && answer.first("done")?["finish_reason"] == "length")
        #expect(answer.content.utf8.count == 65_536)
        #expect(try await database.messages(of: user.id, role: "assistant").map { $0["content"] } == [answer.content])
        try await eventually("the end of the connection") { provider.open == 0 }
    }

    @Test("with bytes that are not UTF-8 is answered, with replacement characters in their places")
    func invalidText() async throws {
        let (_, gateway, database) = try await Self.fixture.value
        let user = gateway.testUser()
        let answer = try await user.chat("Hello \(Oddity.invalidText.rawValue)")
        #expect(answer.eventTypes == ["start", "token", "usage", "done"] && answer.content == "caf\u{FFFD}(\u{FFFD}!", "\(answer.text)")
        #expect(try await database.messages(of: user.id, role: "assistant").map { $0["content"] } == [answer.content])
    }
}
