import Testing

@testable import ProviderSimulator

@Suite("Response plans")
struct ResponsePlanTests {
    private static func plan(
        streamed: Bool = true, usage: Bool = false, maxTokens: Int? = nil, stops: [String] = [], _ edit: (inout Script) -> Void = { _ in }
    ) -> ResponsePlan {
        var script = Script()
        script.tokens = ["one", " two", " three"]
        edit(&script)
        var request = ChatRequest(model: "sim-coach-1", turns: [.init(role: "user", text: "hello there")])
        request.isStreamed = streamed
        request.includesUsage = usage
        request.maxTokens = maxTokens
        request.stops = stops
        return ResponsePlan(script: script, request: request)
    }

    @Test("an ordinary stream is head, opening, tokens, reason, [DONE], at 150 ms and then every 20 ms")
    func ordinary() {
        #expect(
            Self.plan().frames == [
                .init(after: 0, steps: [.head]), .init(after: 150, steps: [.send(.opening)]),
                .init(after: 0, steps: [.send(.token("one"))]),
                .init(after: 20, steps: [.send(.token(" two"))]), .init(after: 20, steps: [.send(.token(" three"))]),
                .init(after: 0, steps: [.send(.finish("stop"))]), .init(after: 0, steps: [.send(.done)]), .init(after: 0, steps: [.end]),
            ])
    }

    @Test("usage is sent between finish reason and [DONE], and counts the sent tokens")
    func usage() {
        let plan = Self.plan(usage: true, maxTokens: 2) { $0.cachedTokens = 3 }
        let expected = TokenUsage(prompt: 8, completion: 2, cached: 3, reasoning: 0)
        #expect(plan.frames.suffix(4).map(\.steps) == [[.send(.finish("length"))], [.send(.usage(expected))], [.send(.done)], [.end]])
        #expect(Self.plan(usage: true) { $0.noUsage = true }.frames.count == Self.plan().frames.count)
        #expect(
            Self.plan { $0.usage = .init(promptTokens: 1, reasoningTokens: 5) }.usage
                == .init(prompt: 1, completion: 3, cached: 0, reasoning: 5))
    }

    @Test("a stall without a duration is silence, one with a duration is a longer pause")
    func stall() {
        let forever = Self.plan { $0.stallAfterTokens = 1 }
        #expect(forever.frames.last?.steps == [.silence])
        #expect(forever.frames.count == 4)
        let passing = Self.plan {
            $0.stallAfterTokens = 1
            $0.stallMs = 500
        }
        #expect(passing.frames[3] == .init(after: 520, steps: [.send(.token(" two"))]))
        let atTheEnd = Self.plan {
            $0.stallAfterTokens = 99
            $0.stallMs = 500
        }
        #expect(atTheEnd.frames[5] == .init(after: 500, steps: [.send(.finish("stop"))]))
        #expect(Self.plan(streamed: false) { $0.stallAfterTokens = 1 }.frames == [.init(after: 150, steps: [.silence])])
    }

    @Test("a cut follows exactly the scripted number of tokens, or the last one", arguments: [(0, 0), (2, 2), (3, 3), (50, 3)])
    func cut(after: Int, tokens: Int) {
        let plan = Self.plan { $0.cutAfterTokens = after }
        #expect(plan.tokens == tokens)
        #expect(plan.frames.last?.steps == [.cut(.close, inside: nil)])
        let halfway = Self.plan {
            $0.cutAfterTokens = after
            $0.cutInsideFrame = true
            $0.cut = .reset
        }
        let next: [ResponsePlan.FrameContent] = [.token("one"), .token(" two"), .token(" three"), .finish("stop")]
        #expect(halfway.frames.last?.steps == [.cut(.reset, inside: next[tokens])])
    }

    @Test("an error follows exactly the scripted number of tokens, with or without [DONE]")
    func error() {
        let plan = Self.plan { $0.errorAfterTokens = 2 }
        #expect(plan.tokens == 2)
        #expect(plan.frames.suffix(2).map(\.steps) == [[.send(.error(.init()))], [.end]])
        let done = Self.plan {
            $0.errorAfterTokens = 2
            $0.errorThenDone = true
        }
        #expect(done.frames.last?.steps == [.send(.done), .end])
    }

    @Test("an answer that is not streamed takes as long as its stream")
    func whole() {
        let usage = TokenUsage(prompt: 8, completion: 3, cached: 0, reasoning: 0)
        #expect(
            Self.plan(streamed: false).frames == [
                .init(after: 190, steps: [.head, .send(.whole(text: "one two three", finishReason: "stop", usage)), .end])
            ])
    }

    @Test("several tokens in one write keep the average pace")
    func grouped() {
        let plan = Self.plan { $0.tokensPerWrite = 2 }
        #expect(plan.frames[2] == .init(after: 20, steps: [.send(.token("one")), .send(.token(" two"))]))
        #expect(plan.frames[3] == .init(after: 20, steps: [.send(.token(" three"))]))
    }

    @Test("jitter changes every pause within its bound, the same way for the same seed")
    func jitter() {
        func pauses(seed: UInt64) -> [Double] {
            Self.plan {
                $0.tokens = Array(repeating: "x", count: 50)
                $0.jitterMs = 15
                $0.seed = seed
            }.frames.dropFirst(3).prefix(49).map(\.after)
        }
        #expect(pauses(seed: 1) == pauses(seed: 1))
        #expect(pauses(seed: 1) != pauses(seed: 2))
        #expect(pauses(seed: 1).allSatisfy { (5...35).contains($0) })
        #expect(Set(pauses(seed: 1)).count > 40)
    }

    @Test("a stop sequence across two tokens ends the answer before it")
    func stops() {
        let plan = Self.plan(stops: ["nothing", "o thr"]) { $0.finishReason = "length" }
        #expect(plan.text == "one tw")
        #expect(plan.frames.contains { $0.steps == [.send(.finish("stop"))] })
        #expect(Self.plan(stops: [""]).text == "one two three")
    }

    @Test("text, finish reason and [DONE] can be omitted")
    func missing() {
        #expect(Self.plan { $0.empty = true }.tokens == 0)
        let bare = Self.plan {
            $0.noFinish = true
            $0.noDone = true
        }
        #expect(bare.frames.suffix(2).map(\.steps) == [[.send(.token(" three"))], [.end]])
        #expect(Self.plan { $0.hang = true }.frames == [.init(after: 0, steps: [.silence])])
        #expect(Self.plan { $0.drop = true }.frames == [.init(after: 0, steps: [.cut(.close, inside: nil)])])
    }

    @Test("the answer has the scripted number of words, one token each, selected by the seed")
    func words() {
        func text(seed: UInt64) -> String {
            Self.plan {
                $0.tokens = nil
                $0.words = 40
                $0.seed = seed
            }.text
        }
        #expect(text(seed: 3).split(separator: " ").count == 40)
        #expect(text(seed: 3) == text(seed: 3))
        #expect(text(seed: 3) != text(seed: 4))
    }
}

extension ResponsePlan {
    fileprivate var tokens: Int {
        frames.flatMap(\.steps).count { if case .send(.token) = $0 { true } else { false } }
    }
}
