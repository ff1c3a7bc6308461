import Foundation
import HTTPTestServers
import TestSupport
import Testing

/// Each answer of a provider that no provider should send, seen from the client and in the ledger.
@Suite("A provider that breaks the rules", .paced)
struct HostileProviderTests {
    /// The product's files with this provider as the first choice; a second one is the simulator.
    private static func root(_ provider: [String: Any], hasSecond: Bool) async throws -> Folder {
        let simulator = try await TestBed.shared().simulator
        let root = try Folder.copyOfRoot()
        let openAI: [String: Any] = ["dialect": "openai", "api_key_env": "KEY"]
        try root.edit("deploy/models.json") { file in
            file["providers"] = [
                "first": openAI.merging(provider) { $1 }, "simulator": openAI.merging(["base_url": simulator.url]) { $1 },
            ]
            file["routes"] = [
                "default": ["first", "simulator"].prefix(hasSecond ? 2 : 1).map {
                    ["provider": $0, "model": "sim-coach-1", "max_output_tokens": 1024] as [String: Any]
                }
            ]
        }
        return root
    }

    /// An answer without text is an error within 3 s, or the next provider's answer. It costs nothing, unless it may have been an answer: then the provider
    /// may bill it.
    private func expectRefusal(by provider: [String: Any], fault: String, isAccepted: Bool = false) async throws {
        let database = try await Database.ofItsOwn()
        func gateway(_ root: Folder) async throws -> Gateway {
            try await Gateway(
                database: database.gatewayURL, simulator: nil, environment: ["COACH_ROOT": root.path, "KEY": "sk-secret"])
        }
        let roots = [try await Self.root(provider, hasSecond: false), try await Self.root(provider, hasSecond: true)]
        let alone = try await gateway(roots[0])
        let user = alone.testUser()
        let answer = try await user.chat("Hello")
        #expect(answer.eventTypes == (isAccepted ? ["start", "usage", "error"] : ["start", "error"]), "\(answer.text)")
        #expect(answer.endAfter < .seconds(3), "\(answer.endAfter)")
        let error = try #require(answer.first("error")).fields
        #expect(error["code"] == "EXT_4001" && error.flag("partial") == false && error.number("kept_bytes") == 0)
        #expect(!answer.text.contains("127.0.0.1") && !answer.text.contains("secret"))
        var faults: [String] { alone.log.filter { $0["message"] == "turn ended" }.compactMap { $0["fault"] } }
        try await eventually("the line of the log") { !faults.isEmpty }
        #expect(faults.count == 1 && faults[0].contains(fault), "\(faults)")
        #expect(!alone.program.output.contains("sk-secret"))
        #expect(try await database.turn(of: user.id)["status"] == "failed")
        #expect(try await database.messages(of: user.id, role: "user").map { $0["content"] } == ["Hello"])
        let own = try await Self.calls(of: user, database)
        #expect(own == ["1 0 null null false", isAccepted ? "1 1 first owner true" : "1 1 null null false"], "\(own)")

        let both = try await gateway(roots[1])
        let other = both.testUser()
        let healed = try await other.chat("Hello \(sim(["text": "Here."]))")
        #expect(healed.eventTypes == ["start", "token", "usage", "done"] && healed.content == "Here.", "\(healed.text)")
        #expect(healed.first("usage")?["provider"] == "simulator")
        #expect(try #require(healed.first("token")).arrivedAfter < .seconds(3))
        let calls = try await Self.calls(of: other, database)
        let failed = isAccepted ? "3 1 first owner true" : "3 1 first null false"
        #expect(calls == ["1 0 null null false", "1 1 simulator owner false", "3 0 null null false", failed], "\(calls)")
        #expect(try await database.isBalanced())
    }

    /// Number, revision, provider, source, and whether it is an estimate, of each row of a user's calls.
    private static func calls(of user: TestUser, _ database: Database) async throws -> [String] {
        try await database.rows(
            """
            select concat_ws(' ', l.call, l.revision, coalesce(l.provider, 'null'), coalesce(l.finalized_by::text, 'null'),
                l.estimated::text) as call
            from usage_logs l join users u using (account_id) where u.id = '\(user.id)' order by l.call, l.revision
            """
        ).compactMap { $0["call"] }
    }

    @Test("by a redirect is not followed: the other address gets neither prompt nor key", arguments: [301, 307, 308])
    func redirect(status: Int) async throws {
        let target = try RawProvider { _, connection in connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
        let provider = try RawProvider { _, connection in
            connection.send(
                "HTTP/1.1 \(status) Moved\r\nLocation: \(target.url)/chat/completions\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        try await expectRefusal(by: ["base_url": provider.url], fault: "refused: first: HTTP \(status)")
        #expect(provider.requests.count == 2 && target.requests.isEmpty)
    }

    @Test(
        "by its certificate is not sent a request", .enabled(if: TLSServer.isAvailable),
        arguments: ["another host", "an unknown authority"])
    func certificate(_ whose: String) async throws {
        let server = try TLSServer()
        let provider: [String: Any] =
            whose == "another host"
            ? ["base_url": "https://localhost:\(server.port)/v1", "ca_file": server.certificate]
            : ["base_url": "https://127.0.0.1:\(server.port)/v1"]
        try await expectRefusal(by: provider, fault: "refused: first: tls")
    }

    private static let oddResponses = [
        "no HTTP": "this is no HTTP\r\n\r\n", "a page": "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>Welcome</html>",
        "two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "a head without end": "HTTP/1.1 200 OK\r\n" + String(repeating: "X-Filling: 1234567890\r\n", count: 300_000),
        "no content": "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "compressed": "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\n\u{1F}\u{8B}\r\n0\r\n\r\n",
    ]

    @Test("by a response that is no answer is a failure", arguments: oddResponses.keys.sorted())
    func oddResponse(_ name: String) async throws {
        let response = try #require(Self.oddResponses[name])
        let provider = try RawProvider { _, connection in connection.send(response) }
        // Nothing at all may be an answer that was cut, which the provider bills; a page is none.
        let isAccepted = name == "no content"
        let fault = isAccepted ? "cut: first: " : name == "a page" ? "not an event stream" : "refused: first: "
        try await expectRefusal(by: ["base_url": provider.url], fault: fault, isAccepted: isAccepted)
        #expect(provider.requests.count == 2, "not asked again: it may bill")
    }
}
