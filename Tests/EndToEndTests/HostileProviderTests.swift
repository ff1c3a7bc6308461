import CoachCore
import Foundation
import HTTPTestServers
import TestSupport
import Testing

/// Each answer of a provider that no provider should send, seen from the client and in the ledger.
@Suite("A provider that breaks the rules", .paced)
struct HostileProviderTests {
    /// A provider that breaks a rule.
    private struct Hostile: Sendable {
        /// Members of its entry in `models.json`.
        var entry: [String: String]
        /// What is asked, as far as that can be seen.
        var server: RawProvider?
        /// Where it redirects to.
        var target: RawProvider?
        /// Keeps it alive.
        var secure: TLSServer?
    }

    private static let redirects = [301, 307, 308]
    private static let certificates = ["another host", "an unknown authority"]
    private static let oddResponses = [
        "no HTTP": "this is no HTTP\r\n\r\n", "a page": "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>Welcome</html>",
        "two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "a head without end": "HTTP/1.1 200 OK\r\n" + String(repeating: "X-Filling: 1234567890\r\n", count: 300_000),
        "no content": "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "compressed": "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\n\u{1F}\u{8B}\r\n0\r\n\r\n",
    ]

    /// All of them by name, and their gateways. Each has a route in which it is alone, and one with the simulator behind it.
    private struct Fixture: Sendable {
        var providers: [String: Hostile]
        private var gateways: [Gateway] = []

        private static let names = (redirects.map { "redirect \($0)" } + certificates + oddResponses.keys).sorted()

        init() async throws {
            providers = [:]
            for status in redirects {
                let target = try RawProvider { _, connection in connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
                let head = "HTTP/1.1 \(status) Moved\r\nLocation: \(target.url)/chat/completions\r\n"
                let server = try RawProvider { _, connection in connection.send(head + "Content-Length: 0\r\nConnection: close\r\n\r\n") }
                providers["redirect \(status)"] = Hostile(entry: ["base_url": server.url], server: server, target: target)
            }
            for name in certificates where TLSServer.isAvailable {
                let server = try TLSServer()
                let entry =
                    name == "another host"
                    ? ["base_url": "https://localhost:\(server.port)/v1", "ca_file": server.certificate]
                    : ["base_url": "https://127.0.0.1:\(server.port)/v1"]
                providers[name] = Hostile(entry: entry, secure: server)
            }
            for (name, response) in oddResponses {
                let server = try RawProvider { _, connection in connection.send(response) }
                providers[name] = Hostile(entry: ["base_url": server.url], server: server)
            }
            for hasSecond in [false, true] {
                for start in stride(from: 0, to: Self.names.count, by: Domain.allCases.count) {
                    gateways.append(try await gateway(Array(Self.names[start...].prefix(Domain.allCases.count)), hasSecond: hasSecond))
                }
            }
        }

        /// With a route of one of these providers for each domain.
        private func gateway(_ names: [String], hasSecond: Bool) async throws -> Gateway {
            let testBed = try await TestBed.shared()
            let root = try Folder.copyOfRoot()
            let openAI = ["dialect": "openai", "api_key_env": "KEY"]
            try root.edit("deploy/models.json") { file in
                let entries = names.compactMap { name in providers[name].map { (name, openAI.merging($0.entry) { $1 }) } }
                let simulator = ("simulator", openAI.merging(["base_url": testBed.simulator.url]) { $1 })
                file["providers"] = Dictionary(uniqueKeysWithValues: entries + [simulator])
                func route(_ names: [String]) -> [[String: Any]] {
                    names.map { ["provider": $0, "model": "sim-coach-1", "max_output_tokens": 1024] }
                }
                let routes = zip(names, Domain.allCases).filter { providers[$0.0] != nil }.map { name, domain in
                    ("domain.\(domain.rawValue)", route(hasSecond ? [name, "simulator"] : [name]))
                }
                file["routes"] = Dictionary(uniqueKeysWithValues: routes + [("default", route(["simulator"]))])
            }
            return try await Gateway(
                database: testBed.database.gatewayURL, simulator: nil, environment: ["COACH_ROOT": root.path, "KEY": "sk-secret"])
        }

        /// The gateway and the domain whose route begins with a provider.
        func route(_ name: String, hasSecond: Bool) throws -> (gateway: Gateway, domain: String) {
            let place = try #require(Self.names.firstIndex(of: name)).quotientAndRemainder(dividingBy: Domain.allCases.count)
            let gateway = gateways[place.quotient + (hasSecond ? gateways.count / 2 : 0)]
            return (gateway, Domain.allCases[place.remainder].rawValue)
        }
    }

    private static let fixture = Task { try await Fixture() }

    /// An answer without text is an error within 3 s, or the next provider's answer. It costs nothing, unless it may have been an answer: then the provider
    /// may bill it.
    private func expectRefusal(by name: String, fault: String, isAccepted: Bool = false) async throws -> Hostile {
        let (fixture, database) = (try await Self.fixture.value, try await TestBed.shared().database)
        let (alone, domain) = try fixture.route(name, hasSecond: false)
        let user = alone.testUser()
        let answer = try await user.chat("Hello", ["domain": domain])
        #expect(answer.eventTypes == (isAccepted ? ["start", "usage", "error"] : ["start", "error"]), "\(answer.text)")
        #expect(answer.endAfter < .seconds(3), "\(answer.endAfter)")
        let error = try #require(answer.first("error")).fields
        #expect(error["code"] == "EXT_4001" && error.flag("partial") == false && error.number("kept_bytes") == 0)
        #expect(!answer.text.contains("127.0.0.1") && !answer.text.contains("secret"))
        let turn = try await database.turn(of: user.id)
        var faults: [String] {
            alone.log.filter { $0["message"] == "turn ended" && $0["turn_id"] == turn["id"] }.compactMap { $0["fault"] }
        }
        try await eventually("the line of the log") { !faults.isEmpty }
        #expect(faults.count == 1 && faults[0].contains(fault), "\(faults)")
        #expect(!alone.program.output.contains("sk-secret"))
        #expect(turn["status"] == "failed")
        #expect(try await database.messages(of: user.id, role: "user").map { $0["content"] } == ["Hello"])
        let own = try await Self.calls(of: user, database)
        #expect(own == ["1|0|null|null|false", isAccepted ? "1|1|\(name)|owner|true" : "1|1|null|null|false"], "\(own)")
        #expect(try await database.isBalanced(of: user.id))

        let (both, second) = try fixture.route(name, hasSecond: true)
        let other = both.testUser()
        let healed = try await other.chat("Hello \(sim(["text": "Here."]))", ["domain": second])
        #expect(healed.eventTypes == ["start", "token", "usage", "done"] && healed.content == "Here.", "\(healed.text)")
        #expect(healed.first("usage")?["provider"] == "simulator")
        #expect(try #require(healed.first("token")).arrivedAfter < .seconds(3))
        let calls = try await Self.calls(of: other, database)
        let failed = isAccepted ? "3|1|\(name)|owner|true" : "3|1|\(name)|null|false"
        #expect(calls == ["1|0|null|null|false", "1|1|simulator|owner|false", "3|0|null|null|false", failed], "\(calls)")
        #expect(try await database.isBalanced(of: other.id))
        return try #require(fixture.providers[name])
    }

    /// Number, revision, provider, source, and whether it is an estimate, of each row of a user's calls.
    private static func calls(of user: TestUser, _ database: Database) async throws -> [String] {
        try await database.rows(
            """
            select concat_ws('|', l.call, l.revision, coalesce(l.provider, 'null'), coalesce(l.finalized_by::text, 'null'),
                l.estimated::text) as call
            from usage_logs l join users u using (account_id) where u.id = '\(user.id)' order by l.call, l.revision
            """
        ).compactMap { $0["call"] }
    }

    @Test("by a redirect is not followed: the other address gets neither prompt nor key", arguments: redirects)
    func redirect(status: Int) async throws {
        let provider = try await expectRefusal(by: "redirect \(status)", fault: "refused: redirect \(status): HTTP \(status)")
        #expect(provider.server?.requests.count == 2 && provider.target?.requests.isEmpty == true)
    }

    @Test("by its certificate is not sent a request", .enabled(if: TLSServer.isAvailable), arguments: certificates)
    func certificate(_ whose: String) async throws {
        _ = try await expectRefusal(by: whose, fault: "refused: \(whose): tls")
    }

    @Test("by a response that is no answer is a failure", arguments: oddResponses.keys.sorted())
    func oddResponse(_ name: String) async throws {
        // Nothing at all may be an answer that was cut, which the provider bills; a page is none.
        let isAccepted = name == "no content"
        let fault = isAccepted ? "cut: \(name): " : name == "a page" ? "not an event stream" : "refused: \(name): "
        let provider = try await expectRefusal(by: name, fault: fault, isAccepted: isAccepted)
        #expect(provider.server?.requests.count == 2, "not asked again: it may bill")
    }
}
