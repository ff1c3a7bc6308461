import CoachCore
import ProviderSimulator
import RelayTestSupport
import Synchronization
import Testing

@testable import ModelProviders

@Suite("ModelCall, refused by providers")
struct ModelCallFailoverTests {
    @Test("a lone provider whose port is closed is reported within three seconds")
    func closedPort() async throws {
        try await CallBench.run(nil, limits: CallLimits()) { bench in
            let record = try await bench.ask()
            #expect(record.fault?.kind == .refused)
            #expect(record.fault?.detail.hasPrefix("one: connect (111)") == true)
            #expect(record.duration < .seconds(3))
            #expect(record.accepted.isEmpty)
        }
    }

    @Test("when one refuses, the next answers", arguments: [nil, Script.refusing(503), .refusing(404), .refusing(401)])
    func failover(_ first: Script?) async throws {
        try await CallBench.run(first, .quick { $0.text = "here" }) { bench in
            let record = try await bench.ask()
            #expect(record.accepted == ["two"])
            #expect(record.text == "here")
        }
    }

    @Test("when one ends without text, the next answers, whatever the reason", arguments: ["stop", "length", "content_filter"])
    func empty(_ reason: String) async throws {
        try await CallBench.run(.quick { ($0.empty, $0.finishReason) = (true, reason) }, .quick { $0.text = "here" }) { bench in
            let record = try await bench.ask()
            #expect(record.accepted == ["one", "two"] && record.text == "here" && record.ends == [.stop], "\(record)")
            #expect(record.unusedCalls.map(\.name.provider) == ["one"] && record.unusedCalls.map(\.isAccepted) == [true])
        }
    }

    @Test("answers without text open the circuit of their provider")
    func emptyInARow() async throws {
        try await CallBench.run(.quick { $0.empty = true }, .quick { $0.text = "here" }) { bench in
            for _ in 0...CircuitBreaker.failuresToOpen {
                let record = try await bench.ask()
                #expect(record.text == "here")
            }
            #expect(bench.providers[0].requests().count == CircuitBreaker.failuresToOpen)
        }
    }

    @Test("each request but the answer's is told once, with what its provider may bill")
    func unusedCalls() async throws {
        let broken = Script.quick { ($0.tokens, $0.errorAfterTokens) = (["Half ", "a sentence"], 2) }
        try await CallBench.run(.refusing(503), broken, .quick { $0.text = "Whole." }) { bench in
            let record = try await bench.start(recorder: CallRecorder { text, _ in ReleaseState(isReleased: text.contains(".")) })
                .recorder.ended()
            #expect(record.accepted == ["two", "three"])
            #expect(record.unusedCalls.map(\.name.provider) == ["one", "two"])
            #expect(record.unusedCalls.map(\.isAccepted) == [false, true] && record.unusedCalls.map(\.textBytes) == [0, 15])
        }
        try await CallBench.run(broken, .refusing(401)) { bench in
            let record = try await bench.start(recorder: CallRecorder { _, _ in ReleaseState(isReleased: false) }).recorder.ended()
            #expect(record.unusedCalls.map(\.name.provider) == ["one", "two"] && record.ends.first?.isFault == true)
        }
        try await CallBench.run(.refusing(401)) { bench in
            let record = try await bench.ask()
            #expect(record.unusedCalls.isEmpty, "its row is recorded before the call")
        }
    }

    @Test("a request with which one provider finds fault is answered by the next, and opens no circuit", arguments: [400, 413, 422])
    func badRequest(_ status: Int) async throws {
        try await CallBench.run(.refusing(status), .quick { $0.text = "here" }) { bench in
            for count in 1...CircuitBreaker.failuresToOpen + 1 {
                let answer = try await bench.ask()
                #expect(answer.text == "here" && bench.providers[0].requests().count == count, "\(answer)")
            }
        }
    }

    @Test("a refused key is not sent again: not for another model of the provider, and not by the next call", arguments: [401, 402])
    func refusedKey(_ status: Int) async throws {
        try await CallBench.run(.refusing(status), .quick { $0.text = "two" }, models: ["sim-a", "sim-b"]) { bench in
            let record = try await bench.ask()
            #expect(record.text == "two" && record.unusedCalls.map(\.name.model) == ["sim-a"], "\(record)")
            #expect(bench.providers[0].requests().count == 1)
        }
        try await CallBench.run(.refusing(status)) { bench in
            _ = try await bench.ask()
            let next = try await bench.ask()
            #expect(next.fault == ModelFault(kind: .refused, detail: "one: its keys were refused") && next.unusedCalls.isEmpty)
            #expect(bench.providers[0].requests().count == 1)
        }
    }

    @Test(
        "a model whose provider has named a later time gets no request: the next call asks another, or ends at once",
        arguments: [429, 503, 529])
    func cooldown(_ status: Int) async throws {
        let refusing = Script.quick { $0.httpError = .init(status: status, retryAfter: 120) }
        try await CallBench.run(refusing) { bench in
            let first = try await bench.ask()
            #expect(first.fault?.kind == .refused)
            let next = try await bench.ask()
            #expect(next.fault?.detail == "one: it has asked for a pause" && next.unusedCalls.isEmpty)
            let pauses = [first, next].compactMap { $0.fault?.retryAfter }
            #expect(pauses.count == 2 && pauses.allSatisfy { (status == 429 ? 61...120 : 1...120).contains($0) }, "\(pauses)")
            #expect(bench.providers[0].requests().count == 1)
        }
        try await CallBench.run(refusing, .refusing(404)) { bench in
            for _ in 1...3 {
                let record = try await bench.ask()
                #expect(record.fault?.kind == .refused)
            }
            #expect(bench.providers[0].requests().count == 1 && bench.providers[1].requests().count == 3)
        }
        // The time is the model's: another one of the provider is asked, with the same key.
        try await CallBench.run(refusing, models: ["sim-a", "sim-b"]) { bench in
            _ = try await bench.ask()
            #expect(bench.providers[0].requests().count == 2)
        }
    }

    @Test(
        "a lone provider's own word on a second request has precedence over its status",
        arguments: [(503, "false", 1), (503, nil, 2), (404, "true", 2), (404, nil, 1), (402, "true", 1)] as [(Int, String?, Int)])
    func shouldRetry(_ status: Int, _ said: String?, _ requests: Int) async throws {
        let script = Script.quick { script in
            script.httpError = .init(status: status)
            script.headers = said.map { ["x-should-retry": $0] }
        }
        var limits = CallBench.patient
        (limits.refusal, limits.retryPause) = (.seconds(60), .milliseconds(1))
        try await CallBench.run(script, limits: limits) { bench in
            let record = try await bench.ask()
            #expect(record.fault?.kind == .refused && bench.providers[0].requests().count == requests, "\(record)")
        }
    }

    @Test("a host that does not answer is given up after the limit of a connection: the next provider answers")
    func silentHost() async throws {
        let host = try SilentPort()
        var limits = CallBench.patient
        limits.connect = .milliseconds(300)
        let silent = { (provider: inout Provider) in
            if provider.name == "one" { provider.baseURL = "http://127.0.0.1:\(host.number)/v1" }
        }
        try await CallBench.run(nil, .quick { $0.text = "second" }, limits: limits, prepare: silent) { bench in
            let record = try await bench.ask()
            #expect(record.text == "second" && record.duration >= .milliseconds(290), "\(record)")
            #expect(record.unusedCalls.map(\.isAccepted) == [false])
        }
        withExtendedLifetime(host) {}
    }

    @Test("an operator is told of the key of the judge, too")
    func judgeKey() async throws {
        try await CallBench.run(.refusing(401)) { bench in
            var configuration = bench.configuration
            configuration.judge = JudgeSettings(route: bench.configuration.defaultRoute, lowestScore: 0, timeLimit: .milliseconds(600))
            let events = Mutex<[ProviderEvent]>([])
            let judge = SafetyJudge(configuration: configuration, keys: bench.router.keys, transfers: bench.router.transfers) { event in
                events.withLock { $0.append(event) }
            }
            let recorder = CallRecorder()
            _ = try #require(judge).model.generate(CallBench.prompt("hello"), nil) { recorder.take($0) }
            _ = try await recorder.ended()
            let name = ModelName(provider: "one", model: "sim-coach-1")
            #expect(
                events.withLock { $0 } == [
                    .requestEnded(name, .failed), .circuitOpened(name, needsOperator: true, detail: "one: HTTP 401 invalid_api_key"),
                ])
        }
    }

    @Test("a fault that is found in the request inside a 200 is no end either, and opens no circuit", arguments: Dialect.all)
    func badRequestInside(_ dialect: Dialect) async throws {
        let error: Script.ErrorBody =
            switch dialect.name {
            case "gemini": .init(code: "INVALID_ARGUMENT")
            case "bedrock": .init(code: "validationException")
            case "openai-responses": .init(code: "invalid_prompt")
            default: .init(type: "invalid_request_error")
            }
        let refused = Script.quick { ($0.words, $0.errorAfterTokens, $0.error) = (5, 0, error) }
        try await CallBench.run(refused, .quick { $0.text = "here" }, dialect: dialect) { bench in
            for count in 1...CircuitBreaker.failuresToOpen + 1 {
                let answer = try await bench.ask()
                #expect(answer.text == "here" && bench.providers[0].requests().count == count, "\(answer)")
            }
        }
    }

    @Test("a lone provider that was overloaded for a moment is asked once more")
    func retry() async throws {
        try await CallBench.run(
            .quick(), limits: CallLimits(firstToken: .seconds(30), firstTokenOverall: .seconds(60), refusal: .seconds(60))
        ) { bench in
            try bench.providers[0].enqueue(.refusing(503))
            let record = try await bench.ask()
            #expect(record.ends == [.stop])
            #expect(bench.providers[0].stats.started == 2)
        }
    }

    @Test("an exhausted quota is not asked again, and the log learns the code")
    func quota() async throws {
        try await CallBench.run(.refusing(429, code: "insufficient_quota")) { bench in
            let record = try await bench.ask()
            #expect(record.fault == ModelFault(kind: .refused, detail: "one: HTTP 429 insufficient_quota"))
            #expect(bench.providers[0].stats.started == 1)
        }
    }

    @Test("a wrong key is refused without a word of it in the fault")
    func wrongKey() async throws {
        try await CallBench.run(.quick(), key: "sk-right") { bench in
            let record = try await bench.ask()
            #expect(record.fault?.kind == .refused)
            #expect(record.fault?.detail.contains("canary") == false)
            #expect(record.fault?.detail.hasPrefix("one: HTTP 401") == true)
        }
    }

    @Test("a provider that drops the connection is refused, a page of a proxy too")
    func dropped() async throws {
        let page = Script.quick { $0.httpError = .init(status: 502, body: String(repeating: "<html>", count: 5000)) }
        for script in [Script.quick { $0.drop = true }, page] {
            try await CallBench.run(script) { bench in
                let record = try await bench.ask()
                #expect(record.fault?.kind == .refused)
            }
        }
    }

    @Test("a provider that is cut before any of its text was released is followed by the next", arguments: Script.Cut.allCases)
    func cutDraft(_ cut: Script.Cut) async throws {
        let first = Script.quick { ($0.tokens, $0.cutAfterTokens, $0.cut) = (["Half ", "a ", "sentence"], 2, cut) }
        try await CallBench.run(first, .quick { $0.text = "Whole." }) { bench in
            let record = try await bench.start(recorder: CallRecorder { text, _ in ReleaseState(isReleased: text.contains(".")) })
                .recorder.ended()
            #expect(record.accepted == ["one", "two"])
            #expect(record.text.hasSuffix("Whole.") && record.ends == [.stop])
        }
    }

    @Test("an error frame before any text is a refusal: the next answers")
    func earlyErrorFrame() async throws {
        try await CallBench.run(.quick { $0.errorAfterTokens = 0 }, .quick { $0.text = "here" }) { bench in
            let record = try await bench.ask()
            #expect(record.accepted == ["one", "two"] && record.unusedCalls.map(\.isAccepted) == [false])
            #expect(record.text == "here")
        }
    }

    @Test("a provider that keeps refusing is tried after the others")
    func breaker() async throws {
        try await CallBench.run(.refusing(503), .quick()) { bench in
            for _ in 0..<(CircuitBreaker.failuresToOpen + 3) {
                let record = try await bench.ask()
                #expect(record.accepted == ["two"])
            }
            #expect(bench.providers[0].stats.started == CircuitBreaker.failuresToOpen)
        }
    }
}
