import Foundation
import TestSupport
import Testing

/// A foreign server as the provider: LiteLLM's proxy, whose model is a mock of its own.
@Suite("LiteLLM's proxy as the provider", .paced)
struct LiteLLMProxyTests {
    private static let text = "One step, then another."
    private static let domains = [("openai", "mindset"), ("anthropic", "fitness")]

    private static let python = ProcessInfo.processInfo.environment["COACH_TEST_LITELLM_PYTHON"]

    /// Beside the Python that has `litellm[proxy]`.
    private static func program() throws -> URL {
        URL(fileURLWithPath: try #require(python)).deletingLastPathComponent().appendingPathComponent("litellm")
    }

    /// The proxy, when it listens. Its Anthropic route does not stream a mock, so there it calls its own OpenAI route.
    private func proxy(_ program: URL) async throws -> (program: Program, port: Int, folder: Folder) {
        let (folder, port) = (try Folder(), try ThrowawayCluster.freePort())
        try folder.write(
            "litellm.yaml",
            """
            model_list:
              - model_name: mock
                litellm_params: {model: openai/mock, api_key: none, mock_response: "\(Self.text)"}
              - model_name: relayed
                litellm_params: {model: hosted_vllm/mock, api_base: "http://127.0.0.1:\(port)/v1", api_key: sk-test}
            general_settings: {master_key: sk-test}
            """)
        let server = try Program(
            ["--config", "\(folder.path)/litellm.yaml", "--host", "127.0.0.1", "--port", "\(port)"],
            environment: ["LITELLM_LOCAL_MODEL_COST_MAP": "True"], executable: program)
        try await eventually(within: .seconds(120), "LiteLLM's proxy\n\(server.output)") {
            #expect(server.isRunning, "\(server.output)")
            return await (try? Browser(port: port).send("GET", "/health/liveliness").status) == 200
        }
        return (server, port, folder)
    }

    @Test(
        "answers turns through its OpenAI and its Anthropic route, and its usage is billed",
        .enabled(if: python != nil, "COACH_TEST_LITELLM_PYTHON is not set"))
    func routes() async throws {
        let proxy = try await proxy(try Self.program())
        let testBed = try await TestBed.shared()
        let root = try Folder.copyOfRoot()
        try root.edit("deploy/models.json") { file in
            func provider(_ dialect: String) -> [String: Any] {
                ["dialect": dialect, "base_url": "http://127.0.0.1:\(proxy.port)", "api_key_env": "KEY"]
            }
            func route(_ provider: String, _ model: String) -> [[String: Any]] {
                [["provider": provider, "model": model, "max_output_tokens": 1024]]
            }
            file["providers"] = ["openai": provider("openai"), "anthropic": provider("anthropic")]
            file["routes"] = [
                "default": route("openai", "mock"), "domain.fitness": route("anthropic", "relayed"),
            ]
        }
        let gateway = try await Gateway(
            database: testBed.database.gatewayURL, simulator: nil, environment: ["COACH_ROOT": root.path, "KEY": "sk-test"])
        for (provider, domain) in Self.domains {
            let user = gateway.testUser()
            let answer = try await user.chat("Hello", ["domain": domain])
            expectDone(answer)
            #expect(answer.content == Self.text)
            let usage = try #require(answer.first("usage")?.fields)
            #expect(usage["provider"] == provider && usage.flag("estimated") == false, "\(answer.text)")
            #expect(usage.number("output_tokens") == 6 && usage.number("input_tokens") ?? 0 > 0, "\(answer.text)")
            let bills = try await testBed.database.rows("select * from model_calls where user_id = '\(user.id)'")
            #expect(bills.count == 1 && bills[0]["provider"] == provider && bills[0].isNull("cost_usd"), "\(bills)")
        }
    }
}
