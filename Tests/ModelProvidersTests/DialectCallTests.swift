import CoachCore
import ProviderSimulator
import TestSupport
import Testing

@testable import ModelProviders

@Suite("A call in each dialect")
struct DialectCallTests {
    @Test("streams text without the reasoning, and counts what the provider counted", arguments: Dialect.all)
    func streams(_ dialect: Dialect) async throws {
        let script = Script.quick {
            $0.text = Self.text
            $0.thinking = "a secret thought"
            $0.usage = .init(promptTokens: 50, completionTokens: 30, cachedTokens: 20)
        }
        try await CallBench.run(script, dialect: dialect) { bench in
            let record = try await bench.ask()
            #expect(record.text == Self.text && record.ends == [.stop], "\(record)")
            #expect(record.usage?.totalInput == 50 && record.usage?.cachedInput == 20 && record.usage?.totalOutput == 30, "\(record)")
        }
    }

    @Test("streams byte by byte", arguments: Dialect.all)
    func bytewise(_ dialect: Dialect) async throws {
        try await CallBench.run(
            .quick {
                $0.unicode = true
                $0.bytewise = true
            }, dialect: dialect
        ) { bench in
            let record = try await bench.ask()
            #expect(record.text.contains("👩‍👩‍👧‍👦") && record.ends == [.stop], "\(record)")
        }
    }

    @Test("tells the token limit and the filter", arguments: Dialect.all, [("length", ModelEnd.length), ("content_filter", .filtered)])
    func ends(_ dialect: Dialect, _ reason: (String, ModelEnd)) async throws {
        let script = Script.quick {
            $0.words = 3
            $0.finishReason = reason.0
        }
        try await CallBench.run(script, dialect: dialect) { bench in
            let answer = try await bench.ask()
            #expect(answer.ends == [reason.1])
        }
    }

    @Test("an error inside a 200 before any text moves on to the next provider; after text it does not", arguments: Dialect.all)
    func errors(_ dialect: Dialect) async throws {
        let failing = { (tokens: Int, isBare: Bool) in
            Script.quick {
                $0.words = 5
                $0.errorAfterTokens = tokens
                $0.bareError = isBare
            }
        }
        for isBare in [false, true] {
            try await CallBench.run(failing(0, isBare), .quick { $0.text = "second" }, dialect: dialect) { bench in
                let answer = try await bench.ask()
                #expect(answer.text == "second")
            }
            try await CallBench.run(failing(2, isBare), .quick { $0.text = "second" }, dialect: dialect) { bench in
                let record = try await bench.ask()
                #expect(record.fault?.kind == .errorFrame && !record.text.isEmpty && bench.providers[1].requests().isEmpty, "\(record)")
            }
        }
    }

    @Test("a cut before the end mark is a fault that keeps the text", arguments: Dialect.all)
    func cut(_ dialect: Dialect) async throws {
        let script = Script.quick {
            $0.words = 5
            $0.cutAfterTokens = 3
            $0.cutInsideFrame = true
        }
        try await CallBench.run(script, dialect: dialect) { bench in
            let record = try await bench.ask()
            #expect(record.fault?.kind == .cut && record.text.split(separator: " ").count == 3, "\(record)")
        }
    }

    @Test("a key that is refused is replaced by the next one; without another the next provider is asked", arguments: Dialect.all)
    func keys(_ dialect: Dialect) async throws {
        try await CallBench.run(.quick { $0.text = "yes" }, key: "good", dialect: dialect, sentKeys: "bad, good") { bench in
            let answer = try await bench.ask()
            #expect(answer.text == "yes")
            #expect(bench.providers[0].requests().count == 2)
            // The refused key has a cooldown.
            let other = try await bench.ask()
            #expect(other.text == "yes")
            #expect(bench.providers[0].requests().count == 3)
        }
        try await CallBench.run(.quick(), key: "good", dialect: dialect, sentKeys: "bad") { bench in
            let record = try await bench.ask()
            #expect(record.fault?.kind == .refused && bench.providers[0].requests().count == 1, "\(record)")
            #expect(!(record.fault?.detail.contains("bad") ?? true))
        }
    }

    @Test("a key that met its rate limit is replaced by the next one", arguments: Dialect.all)
    func limitedKeys(_ dialect: Dialect) async throws {
        let second = Script.quick { $0.text = "second" }
        try await CallBench.run(.quick { $0.text = "yes" }, second, dialect: dialect, sentKeys: "one, two") { bench in
            try bench.providers[0].enqueue(.refusing(429))
            let answer = try await bench.ask()
            #expect(answer.text == "yes" && bench.providers[0].requests().count == 2, "\(answer)")
            #expect(bench.providers[1].requests().isEmpty)
        }
    }

    @Test("a key that is refused is not sent again by the next call, whatever the status and wherever it is from", arguments: Dialect.all)
    func keysWithCooldown(_ dialect: Dialect) async throws {
        try await CallBench.run(.quick(), key: "good", dialect: dialect, sentKeys: "bad") { try await expectCooldown($0) }
        guard dialect.name == "bedrock" else { return }
        let fields: [Provider.Field] = [
            .init("region", .constant("us-east-1")), .init("access_key_id", .variable("ID")),
            .init("secret_access_key", .variable("SECRET")),
        ]
        let fromSettings = { (provider: inout Provider) in (provider.keyVariable, provider.settings) = (nil, fields) }
        try await CallBench.run(.quick(), key: "good", dialect: dialect, prepare: fromSettings) { try await expectCooldown($0) }
        try await CallBench.run(.quick { $0.text = "yes" }, key: "AKID", dialect: dialect, prepare: fromSettings) { bench in
            let answer = try await bench.ask()
            #expect(answer.text == "yes", "\(answer)")
        }
    }

    @Test("a prompt that Azure's filter blocks is billed once, as an accepted call that is not used, and the next provider is asked")
    func blockedPrompt() async throws {
        let azure = try #require(Dialect.named("azure-openai"))
        try await CallBench.run(.refusing(400, code: "content_filter"), .quick(), dialect: azure) { bench in
            let record = try await bench.ask()
            #expect(record.accepted == ["two"] && record.unusedCalls.map(\.isAccepted) == [true], "\(record)")
            #expect(!record.text.isEmpty && bench.providers[1].requests().count == 1)
        }
        try await CallBench.run(.refusing(400, code: "content_filter"), .refusing(503), dialect: azure) { bench in
            let record = try await bench.ask()
            #expect(record.accepted.isEmpty && record.unusedCalls.map(\.isAccepted) == [true, false], "\(record)")
        }
        try await CallBench.run(.refusing(400, code: "content_filter"), dialect: azure) { bench in
            let record = try await bench.ask()
            #expect(record.accepted == ["one"] && record.unusedCalls.isEmpty, "\(record)")
        }
        try await CallBench.run(.refusing(400), .quick(), dialect: azure) { bench in
            let record = try await bench.ask()
            #expect(record.accepted == ["two"] && record.unusedCalls.map(\.isAccepted) == [false], "\(record)")
        }
    }

    /// Two calls, of which only the first sends its request.
    private func expectCooldown(_ bench: CallBench) async throws {
        let first = try await bench.ask()
        #expect(first.fault?.detail.contains("HTTP 40") == true && bench.providers[0].requests().count == 1, "\(first)")
        let next = try await bench.ask()
        #expect(next.fault == ModelFault(kind: .refused, detail: "one: its keys were refused"), "\(next)")
        #expect(bench.providers[0].requests().count == 1)
    }

    /// What a provider of the dialect sends in an answer when the key is wrong.
    private static func keyError(_ dialect: Dialect) -> Script.ErrorBody {
        switch dialect.name {
        case "anthropic": .init(type: "authentication_error")
        case "gemini": .init(code: "UNAUTHENTICATED")
        case "bedrock": .init(code: "accessDeniedException")
        default: .init(code: "invalid_api_key")
        }
    }

    @Test("a key that is refused inside a 200 is replaced by the next one, and has a cooldown", arguments: Dialect.all)
    func keysInside(_ dialect: Dialect) async throws {
        let refused = Script.quick { ($0.words, $0.errorAfterTokens, $0.error) = (5, 0, Self.keyError(dialect)) }
        try await CallBench.run(.quick { $0.text = "yes" }, dialect: dialect, sentKeys: "first, second") { bench in
            try bench.providers[0].enqueue(refused)
            let answer = try await bench.ask()
            #expect(answer.text == "yes" && bench.providers[0].requests().count == 2, "\(answer)")
        }
        try await CallBench.run(refused, .quick { $0.text = "second" }, dialect: dialect, sentKeys: "only") { bench in
            let answer = try await bench.ask()
            #expect(answer.text == "second" && bench.providers[0].requests().count == 1, "\(answer)")
            // The circuit is open, so the other provider is asked first.
            let next = try await bench.ask()
            #expect(next.text == "second" && bench.providers[0].requests().count == 1, "\(next)")
        }
    }

    private static let text = "Grüß dich, das klingt schwer. 👋🏽 Was würde heute helfen?"
}

extension Dialect: CustomTestStringConvertible {
    public var testDescription: String { name }
}
