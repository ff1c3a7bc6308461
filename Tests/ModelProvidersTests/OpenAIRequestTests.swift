import CoachCore
import JSON
import Testing
import TokenRelay

@testable import ModelProviders

@Suite("OpenAIRequest")
struct OpenAIRequestTests {
    let prompt = Prompt(
        messages: [.init(role: .system, content: "Be kind."), .init(role: .user, content: "Hi \"you\"\u{2028}")], maximumOutputTokens: 500)

    func body(_ choice: ModelChoice, _ dialect: Dialect = .openAI) throws -> JSONValue {
        let provider = Provider(name: "p", dialect: dialect, baseURL: "http://p.test")
        let configuration = ModelConfiguration(providers: ["p": provider], defaultRoute: Route(choice), routes: [:])
        let request = dialect.request(
            PromptForm(dialect: dialect).encode(prompt), to: choice, at: provider, key: nil,
            keys: ProviderKeys(of: configuration, environment: [:]),
            connectTimeout: .seconds(1))
        return try JSONValue(parsing: request.body ?? [])
    }

    @Test("the body asks for a stream with usage")
    func fields() throws {
        let json = try body(ModelChoice(name: .init(provider: "p", model: "m"), maximumOutputTokens: 100, temperature: 0.7))
        #expect(
            json
                == [
                    "model": "m", "stream": true, "stream_options": ["include_usage": true], "max_completion_tokens": 100,
                    "temperature": 0.7, "store": false,
                    "messages": [
                        ["role": "system", "content": "Be kind."], ["role": "user", "content": .string("Hi \"you\"\u{2028}")],
                    ],
                ])
    }

    @Test("the older name of the token limit, the smaller of both limits, no temperature unless set")
    func variants() throws {
        let json = try body(
            ModelChoice(
                name: .init(provider: "p", model: "m"), maximumOutputTokens: 9999, options: ["token_limit_field": "max_tokens"],
                parameters: [JSONMember("top_p", 0.5)]))
        #expect(json["top_p"] == 0.5)
        #expect(json["max_tokens"] == 500)
        #expect(json["max_completion_tokens"] == nil)
        #expect(json["temperature"] == nil)
    }

    @Test("compatible servers get nothing that only OpenAI knows")
    func compatible() throws {
        let json = try body(ModelChoice(name: .init(provider: "p", model: "m")), Dialect(OpenAICompatible.self))
        #expect(json["store"] == nil && json["max_tokens"] == 500 && json["max_completion_tokens"] == nil)
    }

    @Test("the provider's code is found in error bodies, its message never")
    func errorCodes() {
        func code(_ body: String) -> String? { OpenAIError.read(Array(body.utf8)).code }
        #expect(OpenAIError.read(Array(#"{"error":{"code":"insufficient_quota"}}"#.utf8)).kind == .money)
        #expect(code(#"{"error":{"message":"m","type":"t","param":null,"code":"c"}}"#) == "c")
        #expect(code(#"{"error":{"message":"m","type":"t","code":null}}"#) == "t")
        #expect(code(#"{"error":{"code":"a secret sentence","type":"also secret!"}}"#) == nil)
        #expect(code(#"{"object":"error","message":"m","type":"NotFoundError","code":404}"#) == "404")
        #expect(code(#"{"error":"just text"}"#) == nil)
        for body in ["", "<html>", "[]", "{", "null", #"{"error":null}"#] { #expect(code(body) == nil) }
    }
}
