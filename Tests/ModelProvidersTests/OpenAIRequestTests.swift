import CoachCore
import JSON
import Testing
import TokenRelay

@testable import ModelProviders

@Suite("OpenAIRequest")
struct OpenAIRequestTests {
    let prompt = Prompt(
        messages: [.init(role: .system, content: "Be kind."), .init(role: .user, content: "Hi \"you\"\u{2028}")], maximumOutputTokens: 500)

    func body(_ choice: ModelChoice) throws -> JSONValue {
        let encoded = Dialect.openAI.encode(prompt)
        return try JSONValue(
            parsing: OpenAIRequest.body(messages: encoded.messages, maximumOutputTokens: encoded.maximumOutputTokens, choice))
    }

    @Test("the body asks for a stream with usage")
    func fields() throws {
        let json = try body(ModelChoice(name: .init(provider: "p", model: "m"), maximumOutputTokens: 100, temperature: 0.7))
        #expect(
            json
                == [
                    "model": "m", "stream": true, "stream_options": ["include_usage": true], "max_completion_tokens": 100,
                    "temperature": 0.7,
                    "messages": [
                        ["role": "system", "content": "Be kind."], ["role": "user", "content": .string("Hi \"you\"\u{2028}")],
                    ],
                ])
    }

    @Test("the older name of the token limit, the smaller of both limits, no temperature unless set")
    func variants() throws {
        let json = try body(
            ModelChoice(name: .init(provider: "p", model: "m"), maximumOutputTokens: 9999, tokenLimitField: .maxTokens))
        #expect(json["max_tokens"] == 500)
        #expect(json["max_completion_tokens"] == nil)
        #expect(json["temperature"] == nil)
    }

    @Test("the provider's code is found in error bodies, its message never")
    func errorCodes() {
        func code(_ body: String) -> String? { OpenAIError.code(inBody: Array(body.utf8)) }
        #expect(code(#"{"error":{"message":"m","type":"t","param":null,"code":"c"}}"#) == "c")
        #expect(code(#"{"error":{"message":"m","type":"t","code":null}}"#) == "t")
        #expect(code(#"{"error":{"code":"a secret sentence","type":"also secret!"}}"#) == nil)
        #expect(code(#"{"object":"error","message":"m","type":"NotFoundError","code":404}"#) == "404")
        #expect(code(#"{"error":"just text"}"#) == nil)
        for body in ["", "<html>", "[]", "{", "null", #"{"error":null}"#] { #expect(code(body) == nil) }
    }
}
