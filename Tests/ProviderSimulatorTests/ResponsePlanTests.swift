import Testing

@testable import ProviderSimulator

@Suite("Response plans")
struct ResponsePlanTests {
    private static func speech(
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
            Self.speech().beats == [
                .init(after: 0, acts: [.head]), .init(after: 150, acts: [.say(.opening)]), .init(after: 0, acts: [.say(.token("one"))]),
                .init(after: 20, acts: [.say(.token(" two"))]), .init(after: 20, acts: [.say(.token(" three"))]),
                .init(after: 0, acts: [.say(.finish("stop"))]), .init(after: 0, acts: [.say(.done)]), .init(after: 0, acts: [.end]),
            ])
    }

    @Test("usage is sent between finish reason and [DONE], and counts the sent tokens")
    func usage() {
        let speech = Self.speech(usage: true, maxTokens: 2) { $0.cachedTokens = 3 }
        let expected = TokenUsage(prompt: 8, completion: 2, cached: 3, reasoning: 0)
        #expect(speech.beats.suffix(4).map(\.acts) == [[.say(.finish("length"))], [.say(.usage(expected))], [.say(.done)], [.end]])
        #expect(Self.speech(usage: true) { $0.noUsage = true }.beats.count == Self.speech().beats.count)
        #expect(
            Self.speech { $0.usage = .init(promptTokens: 1, reasoningTokens: 5) }.usage
                == .init(prompt: 1, completion: 3, cached: 0, reasoning: 5))
    }

    @Test("a stall without a duration is silence, one with a duration is a longer pause")
    func stall() {
        let forever = Self.speech { $0.stallAfterTokens = 1 }
        #expect(forever.beats.last?.acts == [.silence])
        #expect(forever.beats.count == 4)
        let passing = Self.speech {
            $0.stallAfterTokens = 1
            $0.stallMs = 500
        }
        #expect(passing.beats[3] == .init(after: 520, acts: [.say(.token(" two"))]))
        let atTheEnd = Self.speech {
            $0.stallAfterTokens = 99
            $0.stallMs = 500
        }
        #expect(atTheEnd.beats[5] == .init(after: 500, acts: [.say(.finish("stop"))]))
        #expect(Self.speech(streamed: false) { $0.stallAfterTokens = 1 }.beats == [.init(after: 150, acts: [.silence])])
    }

    @Test("a cut follows exactly the scripted number of tokens, or the last one", arguments: [(0, 0), (2, 2), (3, 3), (50, 3)])
    func cut(after: Int, tokens: Int) {
        let speech = Self.speech { $0.cutAfterTokens = after }
        #expect(speech.tokens == tokens)
        #expect(speech.beats.last?.acts == [.cut(.close, inside: nil)])
        let halfway = Self.speech {
            $0.cutAfterTokens = after
            $0.cutInsideFrame = true
            $0.cut = .reset
        }
        let next: [ResponsePlan.FrameContent] = [.token("one"), .token(" two"), .token(" three"), .finish("stop")]
        #expect(halfway.beats.last?.acts == [.cut(.reset, inside: next[tokens])])
    }

    @Test("an error follows exactly the scripted number of tokens, with or without [DONE]")
    func error() {
        let speech = Self.speech { $0.errorAfterTokens = 2 }
        #expect(speech.tokens == 2)
        #expect(speech.beats.suffix(2).map(\.acts) == [[.say(.error(.init()))], [.end]])
        let done = Self.speech {
            $0.errorAfterTokens = 2
            $0.errorThenDone = true
        }
        #expect(done.beats.last?.acts == [.say(.done), .end])
    }

    @Test("an answer that is not streamed takes as long as its stream")
    func whole() {
        let usage = TokenUsage(prompt: 8, completion: 3, cached: 0, reasoning: 0)
        #expect(
            Self.speech(streamed: false).beats == [
                .init(after: 190, acts: [.head, .say(.whole(text: "one two three", finishReason: "stop", usage)), .end])
            ])
    }

    @Test("several tokens in one write keep the average pace")
    func grouped() {
        let speech = Self.speech { $0.tokensPerWrite = 2 }
        #expect(speech.beats[2] == .init(after: 20, acts: [.say(.token("one")), .say(.token(" two"))]))
        #expect(speech.beats[3] == .init(after: 20, acts: [.say(.token(" three"))]))
    }

    @Test("jitter changes every pause within its bound, the same way for the same seed")
    func jitter() {
        func pauses(seed: UInt64) -> [Double] {
            Self.speech {
                $0.tokens = Array(repeating: "x", count: 50)
                $0.jitterMs = 15
                $0.seed = seed
            }.beats.dropFirst(3).prefix(49).map(\.after)
        }
        #expect(pauses(seed: 1) == pauses(seed: 1))
        #expect(pauses(seed: 1) != pauses(seed: 2))
        #expect(pauses(seed: 1).allSatisfy { (5...35).contains($0) })
        #expect(Set(pauses(seed: 1)).count > 40)
    }

    @Test("a stop sequence across two tokens ends the answer before it")
    func stops() {
        let speech = Self.speech(stops: ["nothing", "o thr"]) { $0.finishReason = "length" }
        #expect(speech.text == "one tw")
        #expect(speech.beats.contains { $0.acts == [.say(.finish("stop"))] })
        #expect(Self.speech(stops: [""]).text == "one two three")
    }

    @Test("text, finish reason and [DONE] can be omitted")
    func missing() {
        #expect(Self.speech { $0.empty = true }.tokens == 0)
        let bare = Self.speech {
            $0.noFinish = true
            $0.noDone = true
        }
        #expect(bare.beats.suffix(2).map(\.acts) == [[.say(.token(" three"))], [.end]])
        #expect(Self.speech { $0.hang = true }.beats == [.init(after: 0, acts: [.silence])])
        #expect(Self.speech { $0.drop = true }.beats == [.init(after: 0, acts: [.cut(.close, inside: nil)])])
    }

    @Test("the answer has the scripted number of words, one token each, selected by the seed")
    func words() {
        func text(seed: UInt64) -> String {
            Self.speech {
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
        beats.flatMap(\.acts).count { if case .say(.token) = $0 { true } else { false } }
    }
}
