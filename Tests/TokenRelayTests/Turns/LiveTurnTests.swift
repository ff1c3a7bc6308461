import CoachCore
import Synchronization
import Testing

@testable import TokenRelay

@Suite("A live turn and its cursors")
struct LiveTurnTests {
    @Test("a cursor reads released text, waits for more, and gets the end only after it was saved")
    func cursor() throws {
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        var cursor = Cursor(after: 0)
        #expect(turn.take(&cursor) == .waiting)
        script.send("hé")
        var text: [UInt8] = []
        #expect(turn.take(&cursor, into: &text) == .text(isLast: true))
        #expect(text == Array("hé".utf8))
        #expect(cursor.position == 3)
        script.end(.stop)
        #expect(turn.take(&cursor) == .waiting)
        let outcome = try #require(turn.outcome)
        #expect(outcome.status == .complete && outcome.releasedBytes == 3)
        let ending = TurnEnding(status: .complete, finishReason: .stop, bill: nil)
        turn.close(ending)
        #expect(turn.take(&cursor) == .ended(ending))
    }

    @Test("the text before and after any position is the whole answer, and no character is split")
    func everyCut() {
        let text = "Grüße — 你好 👩‍👩‍👧 naïve e\u{301} \u{2028} end"
        let whole = Array(text.utf8)
        let ending = TurnEnding(status: .complete, finishReason: .stop, bill: nil)
        let turn = LiveTurn(replaying: .sample, content: text, ending: ending)
        for cut in 0...whole.count {
            var cursor = Cursor(after: cut)
            turn.align(&cursor)
            let start = cursor.position
            #expect(start <= cut && cut - start < 4)
            var rest: [UInt8] = []
            while true {
                var piece: [UInt8] = []
                guard turn.take(&cursor, maximum: 4, into: &piece) == .text(isLast: false) else { break }
                #expect(String(validating: piece, as: UTF8.self) != nil)
                rest += piece
            }
            #expect(Array(whole[..<start]) + rest == whole)
        }
    }

    @Test("stop cancels the model call once, also when it comes before the call")
    func stop() {
        let script = ScriptedModel()
        let early = LiveTurn(facts: .sample)
        early.stop()
        early.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        #expect(script.cancellations == 1)
        early.stop()
        #expect(script.cancellations == 1)
    }

    @Test("U+0000 is dropped and not counted; usage and end may come in the update with the last text")
    func update() throws {
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        script.send("\0a\0b")
        script.send("\0")
        #expect(turn.releasedBytes == 2)
        script.send("c", usage: TokenUsage(output: 3), end: .length)
        let outcome = try #require(turn.outcome)
        #expect(turn.released.text == Array("abc".utf8))
        #expect(outcome.releasedBytes == 3 && outcome.usage == TokenUsage(output: 3) && outcome.finishReason == .length)
    }

    @Test("the model's text is released only after the output guard, and withheld bytes are counted")
    func guarded() throws {
        let script = ScriptedModel()
        let outputGuard = try GuardedAnswer.shipped(language: "en")
        let turn = LiveTurn(facts: .sample, outputGuard: outputGuard)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        var length = 0
        for piece in ["Yes. I", "'m a hu", "man, tru", "st me. Go", " on."] {
            script.send(piece)
            #expect(turn.releasedBytes >= length)
            length = turn.releasedBytes
            #expect(!String(decoding: turn.released.text, as: UTF8.self).contains("human, tr"))
        }
        script.end(.stop)
        let outcome = try #require(turn.outcome)
        #expect(String(decoding: turn.released.text, as: UTF8.self).hasPrefix("Yes. I'm a … To be clear: I'm an AI coach"))
        #expect(String(decoding: turn.released.text, as: UTF8.self).hasSuffix(" Go on."))
        #expect(outcome.replaced == [.identity] && outcome.withheldBytes == 16)
        #expect(outcome.releasedBytes == turn.releasedBytes)
    }

    @Test("text of a provider that broke is billed once, whether another one began to answer or refused", arguments: [true, false])
    func unusedText(acceptsSecond: Bool) throws {
        let (first, second) = (ModelName(provider: "a", model: "m"), ModelName(provider: "b", model: "m"))
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample, outputGuard: try .shipped(language: "en", holdsSentences: true))
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        script.send("I hear you and", acceptedBy: first)
        #expect(turn.releasedBytes == 0)
        script.send("", unusedCalls: [UnusedCall(name: first, isAccepted: true, textBytes: 14)], acceptedBy: acceptsSecond ? second : nil)
        let refused = ModelEnd.failed(ModelFault(kind: .refused, detail: "overloaded"))
        script.send("", unusedCalls: [UnusedCall(name: second, isAccepted: false)], end: refused)
        let outcome = try #require(turn.outcome)
        #expect(outcome.answeredBy == first && outcome.unusedCalls.map(\.name) == [second])
        #expect(outcome.modelBytes == (acceptsSecond ? 0 : 14) && outcome.withheldBytes == (acceptsSecond ? 14 : 0))
    }

    @Test("text that the guard holds is released at the end of the model call")
    func guardedEnd() throws {
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample, outputGuard: try .shipped(language: "en"))
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        script.send("Do 30")
        script.send("0")
        #expect(turn.releasedBytes == 5)
        script.end(.stop)
        #expect(turn.released.text == Array("Do 300".utf8))
    }

    @Test("onOutcome calls its listener once: at the end of the model call, or at once after it")
    func outcome() {
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        let signalled = Mutex<[TurnOutcome]>([])
        turn.onOutcome { outcome in signalled.withLock { $0.append(outcome) } }
        script.send("a")
        #expect(signalled.withLock { $0.isEmpty })
        script.end(.stop)
        #expect(signalled.withLock { $0.map(\.status) } == [.complete])
        #expect(turn.outcome?.status == .complete)
        #expect(signalled.withLock { $0.count } == 1)
    }

    @Test("a turn is freed after its model call has ended: there is no reference cycle")
    func releasedAfterCall() {
        let script = ScriptedModel()
        var turn: LiveTurn? = LiveTurn(facts: .sample)
        weak let gone = turn
        turn?.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        turn?.onOutcome { [turn] _ in _ = turn }
        script.send("a")
        turn = nil
        #expect(gone != nil)
        script.end(.cancelled)
        #expect(gone == nil)
    }

    @Test("a handOver signal is remembered for a later listener, a progressed signal is not")
    func rememberedSignals() {
        let recorder = SignalRecorder()
        let subscriber = Subscriber()
        subscriber.notify(.progressed)
        subscriber.listen(recorder)
        subscriber.notify(.progressed)
        subscriber.removeListener()
        subscriber.notify(.progressed)
        subscriber.notify(.handOver)
        #expect(recorder.signals == [.progressed])
        subscriber.listen(recorder)
        #expect(recorder.signals == [.progressed, .handOver])
    }

    @Test("every subscriber is signalled until it is removed; one with deliversAtEnd is not signalled for progress")
    func manySubscribers() {
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        let recorders = (0..<4).map { _ in SignalRecorder() }
        let subscribers = recorders.indices.map { Subscriber(deliversAtEnd: $0 == 3) }
        for (subscriber, recorder) in zip(subscribers, recorders) {
            subscriber.listen(recorder)
            #expect(turn.add(subscriber, limit: 4))
        }
        script.send("a")
        turn.remove(subscribers[0])
        script.send("b")
        turn.remove(subscribers[2])
        script.send("c")
        turn.handOver()
        turn.remove(subscribers[1])
        turn.remove(subscribers[3])
        #expect(!turn.hasSubscribers)
        #expect(recorders[0].signals == [.progressed])
        #expect(recorders[1].signals == [.progressed, .progressed, .progressed, .handOver])
        #expect(recorders[2].signals == [.progressed, .progressed])
        #expect(recorders[3].signals == [.handOver])
    }

    @Test("a wait for the end of a turn that another instance continues ends at once, also one that begins later", .timeLimit(.minutes(1)))
    func handOverBeforeTheEnd() async {
        let turn = LiveTurn(facts: .sample)
        async let ending = turn.ending(within: .seconds(600))
        while !turn.hasSubscribers { await Task.yield() }
        turn.handOver()
        #expect(await ending == nil)
        #expect(await turn.ending(within: .seconds(600)) == nil)
        let (late, recorder) = (Subscriber(), SignalRecorder())
        #expect(turn.add(late, limit: 1))
        late.listen(recorder)
        #expect(recorder.signals == [.handOver])
    }

    @Test("a turn accepts subscribers up to the limit, another after one is removed, and always the client that began it")
    func subscriberLimit() {
        let turn = LiveTurn(facts: .sample)
        let first = Subscriber()
        #expect(turn.add(first, limit: 1))
        #expect(turn.add(Subscriber(beganTurn: true), limit: 1))
        #expect(!turn.add(Subscriber(), limit: 1))
        turn.remove(first)
        #expect(turn.add(Subscriber(), limit: 1))
    }
}

/// Records the signals of a subscriber.
private final class SignalRecorder: SubscriberListener {
    private let all = Mutex<[Subscriber.Signal]>([])
    var signals: [Subscriber.Signal] { all.withLock { $0 } }

    func signalled(_ signal: Subscriber.Signal) { all.withLock { $0.append(signal) } }
}
