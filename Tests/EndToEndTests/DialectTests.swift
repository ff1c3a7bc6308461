import Foundation
import TestSupport
import Testing

@Suite("One gateway with a provider of each dialect", .paced)
struct DialectTests {
    /// A dialect, and the domain whose route has it.
    enum Dialect: String, CaseIterable, Sendable {
        case anthropic, gemini, bedrock
        case responses = "openai-responses"
        case azure = "azure-openai"
        case compatible = "openai-compatible"

        var domain: String {
            switch self {
            case .anthropic: "life_coaching"
            case .gemini: "career_coaching"
            case .bedrock: "relationships"
            case .responses: "mindset"
            case .azure: "creativity"
            case .compatible: "fitness"
            }
        }

        var model: String { "sim-\(rawValue)" }

        /// Where the simulator must have been asked.
        var path: String {
            switch self {
            case .anthropic: "/v1/messages"
            case .gemini: "/v1beta/models/sim-gemini:streamGenerateContent"
            case .bedrock: "/model/sim-bedrock/converse-stream"
            case .responses: "/v1/responses"
            case .azure: "/openai/deployments/sim-azure-openai/chat/completions"
            case .compatible: "/v1/chat/completions"
            }
        }
    }

    private static let started = Task {
        let testBed = try await TestBed.shared()
        let folder = try Folder.copyOfRoot()
        let address = "http://127.0.0.1:\(testBed.simulator.port)"
        try folder.edit("deploy/models.json") { file in
            var providers: [String: Any] = ["simulator": ["dialect": "openai", "base_url": address, "api_key_env": "KEYS"]]
            var routes: [String: Any] = [
                "default": [["provider": "simulator", "model": "sim-coach-1", "max_output_tokens": 1024]]
            ]
            for dialect in Dialect.allCases {
                var provider: [String: Any] = ["dialect": dialect.rawValue, "base_url": address, "api_key_env": "KEYS"]
                if dialect == .azure { provider["api_version"] = "2024-10-21" }
                if dialect == .bedrock {
                    provider.merge(["region": "us-east-1", "api_key_env": "AWS_KEYS"]) { $1 }
                }
                providers[dialect.rawValue] = provider
                routes["domain.\(dialect.domain)"] = [
                    ["provider": dialect.rawValue, "model": dialect.model, "max_output_tokens": 1024],
                    ["provider": "simulator", "model": "sim-coach-1", "max_output_tokens": 1024],
                ]
            }
            file["providers"] = providers
            file["routes"] = routes
        }
        let gateway = try await Gateway(
            database: testBed.database.gatewayURL, simulator: nil,
            environment: ["COACH_ROOT": folder.path, "KEYS": "key-one,key-two", "AWS_KEYS": "AKIDSIM:secret,AKIDTWO:secret"])
        return (gateway: gateway, folder: folder)
    }

    @Test(
        "streams through it, with the reasoning billed and not shown; before the first token the next provider takes over",
        arguments: Dialect.allCases)
    func streams(_ dialect: Dialect) async throws {
        let (gateway, _) = try await Self.started.value
        let testBed = try await TestBed.shared()
        let word = marker()
        let usage = ["prompt_tokens": 500, "completion_tokens": 30, "cached_tokens": 200, "reasoning_tokens": 10]
        let answer = try await gateway.testUser().chat(
            "\(word) \(sim(["text": "Grüß dich, schön.", "thinking": "a secret thought", "usage": usage]))", ["domain": dialect.domain])
        #expect(answer.eventTypes == ["start", "token", "usage", "done"] && answer.content == "Grüß dich, schön.", "\(answer.text)")
        #expect(!answer.text.contains("secret"))
        let counted = try #require(answer.first("usage")).fields
        #expect(counted["provider"] == dialect.rawValue && counted["model"] == dialect.model)
        #expect(counted.number("input_tokens") == 500 && counted.number("cached_input_tokens") == 200)
        #expect(counted.number("output_tokens") == 30 && counted.flag("estimated") == false, "\(counted)")
        let turn = try #require(answer.first("start")?["turn_id"])
        let row = try await testBed.database.row(
            "select output_tokens, reasoning_tokens from model_calls where turn_id = '\(turn)' and call = 1")
        // Bedrock does not tell them apart.
        let isTold = dialect.rawValue != "bedrock"
        #expect(row.number("output_tokens") == (isTold ? 20 : 30) && row.number("reasoning_tokens") == (isTold ? 10 : nil), "\(row)")
        let requests = try await testBed.simulator.requests(containing: word)
        #expect(requests.map { $0.entry["path"] } == [dialect.path])
        #expect(requests.first?.system.isEmpty == false)
        // One after the other: five failures in a row, or the lack of money at the end, set the provider aside.
        for fault in [
            #"{"http_error":{"status":503}}"#, #"{"error_after_tokens":0,"error":{"code":"server_error"}}"#, #"{"drop":true}"#,
            #"{"http_error":{"status":402}}"#,
        ] {
            let word = marker()
            let script = fault.dropLast() + #","model":"\#(dialect.model)","first_token_ms":0}"#
            let answer = try await gateway.testUser().chat("Hello \(word) [[sim \(script)]]", ["domain": dialect.domain])
            #expect(answer.eventTypes == ["start", "token", "usage", "done"], "\(answer.text)")
            #expect(answer.first("usage")?["provider"] == "simulator")
            #expect(try #require(answer.first("token")).arrivedAfter < .seconds(3), "\(fault)")
            let asked = try await testBed.simulator.requests(containing: word).map { $0.entry["path"] }
            // Without money the second key is tried, too.
            let attempts = fault.contains("402") ? 2 : 1
            #expect(asked == Array(repeating: dialect.path, count: attempts) + ["/v1/chat/completions"], "\(fault)")
        }
        let log = gateway.log.filter { $0["provider"] == dialect.rawValue }
        #expect(log.contains { $0["level"] == "error" && $0["detail"]?.contains("402") == true }, "\(gateway.program.output)")
    }
}
