import CoachCore
import Foundation
import JSON
import Testing
import TokenRelay

@testable import ModelProviders

@Suite("Requests of the dialects")
struct DialectRequestTests {
    private let prompt = Prompt(
        messages: [
            .init(role: .system, content: "Be kind."), .init(role: .user, content: "Hi"),
            .init(role: .assistant, content: ""), .init(role: .user, content: "Still \"there\"?"), .init(role: .assistant, content: "Yes."),
            .init(role: .system, content: "A crisis."), .init(role: .user, content: "Good"),
        ], maximumOutputTokens: 500)

    private func request(
        _ dialect: String, _ base: String, provider: String = "", choice: String = "", model: String = "a.b:0"
    ) throws -> (request: TransferRequest, body: JSONValue) {
        let file = """
            {"providers": {"p": {"dialect": "\(dialect)", "base_url": "\(base)", "api_key_env": "KEY"\(provider)}},
             "routes": {"default": [{"provider": "p", "model": "\(model)", "max_output_tokens": 100, "temperature": 1.5\(choice)}]}}
            """
        let environment = ["KEY": "secret", "ID": "AKID", "SECRET": "shh"]
        let (read, findings) = ModelConfiguration.read(Data(file.utf8), environment: environment)
        #expect(findings == [])
        let configuration = try #require(read)
        let provider = try #require(configuration.providers["p"])
        let keys = ProviderKeys(of: configuration, environment: environment)
        let choice = configuration.defaultRoute.first
        let request = provider.dialect.request(
            provider.dialect.promptForm(for: choice).encode(prompt), to: choice, at: provider, key: keys.key(of: "p", at: .now),
            keys: keys, connectTimeout: .seconds(1))
        return (request, try JSONValue(parsing: request.body ?? []))
    }

    @Test("an answer may be as long as the model's entry says, unless the prompt asks for less", arguments: Dialect.all)
    func longestAnswer(_ dialect: Dialect) throws {
        let choice = ModelChoice(name: ModelName(provider: "p", model: "m"), maximumOutputTokens: 8_000)
        let provider = Provider(name: "p", dialect: dialect, baseURL: "http://h")
        let configuration = ModelConfiguration(providers: ["p": provider], defaultRoute: Route(choice), routes: [:])
        let keys = ProviderKeys(of: configuration, environment: [:])
        for (limit, expected) in [(nil, 8_000), (500, 500), (9_000, 8_000)] as [(Int?, Int)] {
            let prompt = Prompt(messages: [.init(role: .user, content: "Hi")], maximumOutputTokens: limit)
            let request = dialect.request(
                provider.dialect.promptForm(for: choice).encode(prompt), to: choice, at: provider, key: nil, keys: keys,
                connectTimeout: .seconds(1))
            #expect(String(decoding: request.body ?? [], as: UTF8.self).contains(":\(expected)"), "\(dialect.name)")
        }
    }

    private func text(_ text: String) -> JSONValue { ["type": "text", "text": .string(text)] }

    @Test("Anthropic: system apart, its stable part and the conversation marked for the cache, turns merged, key in a field of its own")
    func anthropic() throws {
        let (request, body) = try request("anthropic", "https://api.anthropic.test", choice: #", "parameters": {"top_k": 5}"#)
        #expect(request.url == "https://api.anthropic.test/v1/messages")
        #expect(request.headers.contains(TransferHeader("x-api-key", "secret")))
        #expect(request.headers.contains(TransferHeader("anthropic-version", "2023-06-01")))
        #expect(!request.headers.contains { $0.name == "Authorization" })
        #expect(
            body == [
                "model": "a.b:0", "max_tokens": 100, "stream": true, "temperature": 1.0, "top_k": 5,
                "system": [
                    ["type": "text", "text": "Be kind.", "cache_control": ["type": "ephemeral"]], text("A crisis."),
                ],
                "messages": [
                    ["role": "user", "content": [text("Hi"), text("Still \"there\"?")]],
                    ["role": "assistant", "content": [text("Yes.")]],
                    ["role": "user", "content": [["type": "text", "text": "Good", "cache_control": ["type": "ephemeral"]]]],
                ],
            ])
    }

    @Test(
        "Chat Completions and Responses: the overriding system message comes last before the user's; servers of others get one at the beginning, and turns"
    )
    func overriding() throws {
        func messages(_ dialect: String, _ member: String = "messages") throws -> [String] {
            try request(dialect, "https://p.test").body[member]?.elements?.map {
                "\($0["role"]?.string ?? "-"): \($0["content"]?.string ?? "-")"
            } ?? []
        }
        let expected = [
            "system: Be kind.", "user: Hi", "assistant: ", "user: Still \"there\"?", "assistant: Yes.", "system: A crisis.", "user: Good",
        ]
        #expect(try messages("openai") == expected)
        #expect(try messages("azure-openai") == expected)
        #expect(try messages("openai-responses", "input") == expected)
        #expect(
            try messages("openai-compatible") == [
                "system: Be kind.\n\nA crisis.", "user: Hi\n\nStill \"there\"?", "assistant: Yes.", "user: Good",
            ])
    }

    @Test("a server in OpenAI's place gets one system message, at the beginning, and the older token limit; a region of OpenAI's does not")
    func replacedServer() throws {
        func body(_ address: String, _ members: String = "") throws -> JSONValue {
            let file = """
                {"providers": {"p": {"dialect": "openai", "base_url": "https://api.openai.com/v1", "base_url_env": "URL"\(members)}},
                 "routes": {"default": [{"provider": "p", "model": "m"}]}}
                """
            let environment = ["URL": address]
            let (read, findings) = ModelConfiguration.read(Data(file.utf8), environment: environment)
            #expect(findings == [])
            let configuration = try #require(read)
            let (provider, choice) = (try #require(configuration.providers["p"]), configuration.defaultRoute.first)
            let request = provider.dialect.request(
                provider.dialect.promptForm(for: choice).encode(prompt), to: choice, at: provider, key: nil,
                keys: ProviderKeys(of: configuration, environment: environment), connectTimeout: .seconds(1))
            return try JSONValue(parsing: request.body ?? [])
        }
        func roles(_ body: JSONValue) -> [String] { body["messages"]?.elements?.compactMap { $0["role"]?.string } ?? [] }
        for address in ["http://gpu:8000", "http://api.openai.com.test/v1"] {
            let other = try body(address)
            #expect(roles(other) == ["system", "user", "assistant", "user"])
            #expect(other["messages"]?.elements?.first?["content"] == "Be kind.\n\nA crisis.")
            #expect(other["max_tokens"] == 500 && other["max_completion_tokens"] == nil)
            #expect(other["store"] == false, "a proxy in front of OpenAI keeps no prompts either")
        }
        #expect(try body("http://gpu:8000", #", "parameters": {"store": null}"#)["store"] == nil)
        for address in ["https://eu.api.openai.com", "https://API.openai.com:443/v1"] {
            let own = try body(address)
            #expect(roles(own).count == 7 && own["max_completion_tokens"] == 500 && own["store"] == false)
        }
    }

    @Test("Gemini: the model in the address, roles of its own")
    func gemini() throws {
        let (request, body) = try request("gemini", "https://g.test", choice: #", "thinking_budget": 0"#)
        #expect(request.url == "https://g.test/v1beta/models/a.b%3A0:streamGenerateContent?alt=sse")
        #expect(request.headers.contains(TransferHeader("x-goog-api-key", "secret")))
        #expect(
            body == [
                "generationConfig": ["maxOutputTokens": 100, "temperature": 1.5, "thinkingConfig": ["thinkingBudget": 0]],
                "systemInstruction": ["parts": [["text": "Be kind."], ["text": "A crisis."]]],
                "contents": [
                    ["role": "user", "parts": [["text": "Hi"], ["text": "Still \"there\"?"]]],
                    ["role": "model", "parts": [["text": "Yes."]]], ["role": "user", "parts": [["text": "Good"]]],
                ],
            ])
    }

    @Test("Bedrock: the stable part of the system and the conversation end with cache points, for models that take them")
    func cachePoints() throws {
        func body(_ model: String, _ choice: String = "") throws -> JSONValue {
            try request("bedrock", "https://b.test", provider: #", "region": "r""#, choice: choice, model: model).body
        }
        let point: JSONValue = ["cachePoint": ["type": "default"]]
        let marked = try body("eu.anthropic.claude-sonnet-4-5-20250929-v1:0")
        #expect(marked["system"] == [["text": "Be kind."], point, ["text": "A crisis."]])
        #expect(
            marked["messages"] == [
                ["role": "user", "content": [["text": "Hi"], ["text": "Still \"there\"?"]]],
                ["role": "assistant", "content": [["text": "Yes."]]], ["role": "user", "content": [["text": "Good"], point]],
            ])
        #expect(try body("amazon.nova-lite-v1:0")["system"]?.elements?.count == 3)
        #expect(try body("openai.gpt-oss-120b-1:0")["system"]?.elements?.count == 2)
        #expect(try body("anthropic.claude-v2", #", "prompt_cache": false"#)["system"]?.elements?.count == 2)
        #expect(try body("arn:aws:x", #", "prompt_cache": true"#)["system"]?.elements?.count == 3)
        #expect(try body("arn:aws:x", #", "model_family": "anthropic""#)["system"]?.elements?.count == 3)
        #expect(BedrockConverse.family(of: "arn:aws:x", options: ["model_family": "openai"]) == "openai")
    }

    @Test("Responses: nothing is stored")
    func responses() throws {
        let (request, body) = try request("openai-responses", "https://api.openai.test")
        #expect(request.url == "https://api.openai.test/v1/responses")
        #expect(body["store"] == false && body["stream"] == true && body["max_output_tokens"] == 100)
        #expect(body["input"]?.elements?.count == 7)
    }

    @Test("Azure: by deployment with a version, else by the v1 address")
    func azure() throws {
        let dated = try request("azure-openai", "https://n.azure.test", provider: #", "api_version": "2024-10-21""#).request
        #expect(dated.url == "https://n.azure.test/openai/deployments/a.b%3A0/chat/completions?api-version=2024-10-21")
        #expect(dated.headers.contains(TransferHeader("api-key", "secret")))
        let (plain, body) = try request("azure-openai", "https://n.azure.test/")
        #expect(plain.url == "https://n.azure.test/openai/v1/chat/completions" && body["model"] == "a.b:0" && body["store"] == false)
    }

    @Test("Bedrock: signed, or with a key as a bearer token")
    func bedrock() throws {
        let region = #", "region": "eu-central-1", "access_key_id_env": "ID", "secret_access_key_env": "SECRET""#
        let (keyed, body) = try request("bedrock", "https://b.test", provider: region)
        #expect(keyed.url == "https://b.test/model/a.b%3A0/converse-stream")
        #expect(keyed.headers.contains(TransferHeader("Authorization", "Bearer secret")))
        #expect(
            body == [
                "inferenceConfig": ["maxTokens": 100, "temperature": 1.0],
                "system": [["text": "Be kind."], ["text": "A crisis."]],
                "messages": [
                    ["role": "user", "content": [["text": "Hi"], ["text": "Still \"there\"?"]]],
                    ["role": "assistant", "content": [["text": "Yes."]]], ["role": "user", "content": [["text": "Good"]]],
                ],
            ])
        let call = DialectCall(
            model: "m", maximumOutputTokens: 1, options: [:],
            settings: ["region": "eu-central-1", "access_key_id": "AKID", "secret_access_key": "shh"])
        func signed(_ key: String?) -> [TransferHeader] {
            var request = TransferRequest(url: "https://b.test/model/m/converse-stream", body: [])
            let isSigned = BedrockConverse.sign(&request, call, key: key, at: .now)
            #expect(isSigned == !request.headers.isEmpty)
            return request.headers
        }
        #expect(signed(BedrockConverse.key(in: call.settings)).last?.value.contains("Credential=AKID/") == true && signed(nil).isEmpty)
        #expect(signed("AKTWO:else").last?.value.contains("Credential=AKTWO/") == true)
        #expect(signed("AKTEMP:else:token=").contains(TransferHeader("X-Amz-Security-Token", "token=")))
        for key in ["ABSKapikey=", "AKID:", ":secret", "a:b:c:d"] { #expect(signed(key).isEmpty, "\(key)") }
    }

    @Test("Bedrock's access keys come from a file too, several of them, and a refused one is followed by the next")
    func accessKeys() throws {
        let path = NSTemporaryDirectory() + "/keys-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        func write(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }
        try write("# the team's\nAKONE:shh\nAKTWO:shh:token\n")
        let file = """
            {"providers": {"p": {"dialect": "bedrock", "base_url": "https://b.test", "region": "eu-central-1", "api_key_file": "\(path)"}},
             "routes": {"default": [{"provider": "p", "model": "m", "max_output_tokens": 100}]}}
            """
        let (read, findings) = ModelConfiguration.read(Data(file.utf8), environment: [:])
        #expect(findings == [])
        let configuration = try #require(read)
        let (provider, choice, now) = (try #require(configuration.providers["p"]), configuration.defaultRoute.first, MonotonicInstant.now)
        let keys = ProviderKeys(of: configuration, environment: [:])
        func credential() throws -> String {
            let request = provider.dialect.request(
                provider.dialect.promptForm(for: choice).encode(prompt), to: choice, at: provider, key: keys.key(of: "p", at: now),
                keys: keys,
                connectTimeout: .seconds(1))
            let field = try #require(request.headers.last)
            #expect(field.name == "Authorization" && !field.value.contains("shh"))
            let value = field.value
            return String(value[(value.firstRange(of: "Credential=")?.upperBound ?? value.startIndex)...].prefix { $0 != "/" })
        }
        #expect(try credential() == "AKONE")
        #expect(keys.coolDown("AKONE:shh", of: "p", for: .seconds(10), isRefused: true, at: now))
        #expect(try credential() == "AKTWO")
        try write("AKTHREE:shh")
        #expect(keys.reload() == (["p"], []))
        #expect(try credential() == "AKTHREE")
        try write("AKFOUR:shh:")
        #expect(keys.reload() == ([], ["p"]))
        #expect(try credential() == "AKTHREE")
        let unread = ModelConfiguration.read(Data(file.utf8), environment: [:])
        #expect(unread.configuration == nil && unread.findings == ["\(path): has a key that is of no form of bedrock"])
    }

    @Test(
        "a key of Bedrock's with a colon that is no access key is a finding, and never sent",
        arguments: ["AK:shh:", "AK:shh:token:x", ":shh"])
    func malformedAccessKey(key: String) throws {
        let file = """
            {"providers": {"p": {"dialect": "bedrock", "base_url": "https://b.test", "region": "eu-central-1", "api_key_env": "KEY"}},
             "routes": {"default": [{"provider": "p", "model": "m", "max_output_tokens": 100}]}}
            """
        let findings = ModelConfiguration.read(Data(file.utf8), environment: ["KEY": "AKONE:shh,\(key)"]).findings
        #expect(findings == ["KEY: has a key that is of no form of bedrock"])
        let (read, _) = ModelConfiguration.read(Data(file.utf8), environment: ["KEY": "AKONE:shh"])
        let configuration = try #require(read)
        let (provider, choice) = (try #require(configuration.providers["p"]), configuration.defaultRoute.first)
        let request = provider.dialect.request(
            provider.dialect.promptForm(for: choice).encode(prompt), to: choice, at: provider, key: key,
            keys: ProviderKeys(of: configuration, environment: [:]), connectTimeout: .seconds(1))
        #expect(!request.headers.contains { $0.value.contains("shh") })
    }

    @Test("a provider's parameters are in each body, and a model's own win; store may be one of a compatible server's")
    func providerParameters() throws {
        let (_, body) = try request(
            "openai-compatible", "https://c.test", provider: #", "parameters": {"store": false, "provider": {"zdr": true}, "top_k": 1}"#,
            choice: #", "parameters": {"top_k": 5}"#)
        #expect(body["store"] == false && body["provider"] == ["zdr": true] && body["top_k"] == 5)
        #expect(body.members?.filter { $0.key == "top_k" }.count == 1)
        let (_, plain) = try request("openai-compatible", "https://c.test")
        #expect(plain["store"] == nil)
    }

    @Test(
        "null leaves out a member that a server refuses, of a provider's models or of one",
        arguments: ["openai", "openai-compatible", "openai-responses", "azure-openai"])
    func omitted(_ dialect: String) throws {
        let (_, body) = try request(
            dialect, "https://c.test", provider: #", "parameters": {"stream_options": null}"#,
            choice: #", "parameters": {"store": null, "user": null}"#)
        #expect(body["stream_options"] == nil && body["store"] == nil && body["stream"] == true)
        #expect(body["user"] == .null, "other members are sent as they are")
        #expect(try request(dialect, "https://c.test").body["stream_options"] != nil)
    }

    @Test("members that a dialect writes itself, and those of other dialects, are findings")
    func findings() {
        func findings(_ dialect: String, provider: String = "", choice: String = "") -> String {
            let file = """
                {"providers": {"p": {"dialect": "\(dialect)", "base_url": "https://p.test"\(provider)}},
                 "routes": {"default": [{"provider": "p", "model": "m", "max_output_tokens": 5\(choice)}]}}
                """
            return ModelConfiguration.read(Data(file.utf8), environment: [:]).findings.joined(separator: "\n")
        }
        for dialect in Dialect.all where dialect.name != "bedrock" { #expect(findings(dialect.name) == "") }
        #expect(findings("bedrock").contains("providers.p.region is required"))
        #expect(findings("anthropic", choice: #", "token_limit_field": "max_tokens""#).contains("token_limit_field is unknown"))
        #expect(findings("openai", choice: #", "parameters": {"stream": false}"#).contains("parameters must not set stream"))
        #expect(findings("openai", provider: #", "parameters": {"store": true}"#).contains("providers.p.parameters must not set store"))
        for member in ["model", "messages", "stream", "temperature"] {
            #expect(findings("openai", provider: #", "parameters": {"\#(member)": null}"#).contains("must not set \(member)"))
        }
        #expect(findings("gemini", provider: #", "region": "x""#).contains("region is unknown"))
    }
}
