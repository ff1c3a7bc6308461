import Foundation
import Testing

@Suite("Official clients", .paced)
struct OfficialClientTests {
    private static let python = ProcessInfo.processInfo.environment["COACH_TEST_PYTHON"]
    /// Of its own, because LiteLLM does not take the newest `openai`.
    private static let pythonOfLiteLLM = ProcessInfo.processInfo.environment["COACH_TEST_LITELLM_PYTHON"]

    @Test(
        "work against the simulator, unchanged",
        .enabled(if: python != nil, "COACH_TEST_PYTHON names no Python that has the packages"),
        arguments: ["openai_sdk.py", "official_sdks.py"])
    func simulator(_ name: String) async throws {
        // One of its own: the script changes the simulator's standing script.
        let simulator = try await Simulator()
        let python = try #require(Self.python)
        let script = Program.checkout.appendingPathComponent("Tests/EndToEndTests/OfficialClients/\(name)").path
        let run = try Program(["-B", script, "http://127.0.0.1:\(simulator.port)"], executable: URL(fileURLWithPath: python))
        let status = try await run.exit(within: 60)
        #expect(status == 0, "\(run.output)")
        #expect(run.lines.count > 5)
    }

    @Test(
        "work against the gateway, unchanged",
        .enabled(if: python != nil, "COACH_TEST_PYTHON names no Python that has the packages"))
    func gateway() async throws { try await run(with: try #require(Self.python), ["openai": 15, "langchain": 3]) }

    @Test(
        "LiteLLM as a client works against the gateway",
        .enabled(if: pythonOfLiteLLM != nil, "COACH_TEST_LITELLM_PYTHON names no Python that has the package litellm"))
    func litellm() async throws { try await run(with: try #require(Self.pythonOfLiteLLM), ["openai": 15, "litellm": 3]) }

    /// A gateway that limits requests after the second one of a minute.
    private static let limited = Task {
        let root = try Folder.copyOfRoot()
        try root.edit("deploy/tiers.json") { file in
            var tiers = file["tiers"] as? [[String: Any]] ?? []
            for index in tiers.indices { tiers[index]["requests_per_minute"] = 2 }
            file["tiers"] = tiers
        }
        return try await TestBed.shared().anotherGateway(["COACH_ROOT": root.path])
    }

    /// - Parameter checks: at least so many of each package.
    private func run(with python: String, _ checks: [String: Int]) async throws {
        let testBed = try await TestBed.shared()
        let limited = try await Self.limited.value
        let forbidden = Token(user: UUID().uuidString.lowercased()).with(["role": "anon"]).text
        let script = Program.checkout.appendingPathComponent("Tests/EndToEndTests/OfficialClients/openai_clients.py").path
        let token = Token(user: UUID().uuidString.lowercased()).text
        let run = try Program(
            ["-B", script, "http://127.0.0.1:\(testBed.gateway.port)", token, "http://127.0.0.1:\(limited.port)", forbidden],
            executable: URL(fileURLWithPath: python))
        let status = try await run.exit(within: 120)
        #expect(status == 0, "\(run.output)")
        for (package, count) in checks {
            #expect(run.lines.count { $0.hasPrefix("ok \(package)") } >= count, "\(run.output)")
        }
    }
}
