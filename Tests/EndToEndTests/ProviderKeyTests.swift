import Foundation
import TestSupport
import Testing

@Suite("Keys of providers", .paced)
struct ProviderKeyTests {
    @Test(
        "as shipped, the provider whose key is set answers",
        arguments: [("OPENAI", "openai", "/v1"), ("ANTHROPIC", "anthropic", ""), ("GEMINI", "gemini", "")])
    func shipped(prefix: String, provider: String, path: String) async throws {
        let simulator = try await Simulator()
        let gateway = try await Gateway(
            database: TestBed.shared().database.gatewayURL, simulator: nil,
            environment: [
                "\(prefix)_API_KEY": "key", "\(prefix)_BASE_URL": "http://127.0.0.1:\(simulator.port)\(path)",
                "\(prefix)_MODEL": "sim-coach-1",
            ])
        let answer = try await gateway.testUser().chat("Hello \(sim(["words": 2]))")
        #expect(answer.first("usage")?["provider"] == provider, "\(answer.text)")
    }

    @Test("a file of keys is read again while the gateway runs: a refused key is replaced without a restart")
    func reload() async throws {
        let database = try await TestBed.shared().database
        let provider = try Program(["simulate-llm", "--port", "0", "--key", "sk-second"])
        let root = try Folder.copyOfRoot()
        try root.write("keys", "sk-first\n")
        let port = try await provider.port()
        let url = "http://127.0.0.1:\(port)/v1"
        try root.edit("deploy/models.json") { file in
            file["providers"] = ["simulator": ["dialect": "openai", "base_url": url, "api_key_file": root.path + "/keys"]]
            file["routes"] = ["default": [["provider": "simulator", "model": "sim-coach-1", "max_output_tokens": 1024]]]
        }
        let gateway = try await Gateway(database: database.gatewayURL, simulator: nil, environment: ["COACH_ROOT": root.path])
        let refused = try await gateway.testUser().chat("Hello \(sim(["words": 2]))")
        #expect(refused.eventTypes == ["start", "error"] && refused.first("error")?["code"] == "EXT_4001", "\(refused.text)")
        try root.write("keys", "# of no use\n")
        try await eventually("the useless file") { gateway.log.contains { $0["message"] == "the file of keys is of no use" } }
        try root.write("keys", "sk-second\n")
        try await eventually("the new key") { gateway.log.contains { $0["message"] == "keys were read again" } }
        expectDone(try await gateway.testUser().chat("Hello \(sim(["words": 2]))"))
        #expect(!gateway.program.output.contains("sk-first") && !gateway.program.output.contains("sk-second"))
        withExtendedLifetime(provider) {}
    }
}
