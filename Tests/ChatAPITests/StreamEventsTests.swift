import CoachCore
import EventStream
import GatewayAPI
import Testing
import TokenRelay

@testable import ChatAPI

@Suite("Opening and terminal events")
struct FramingTests {
    private let facts = TurnFacts(
        userID: .random(),
        identity: TurnIdentity(turnID: .random(), conversationID: .random(), userMessageID: .random(), messageID: .random(), attempt: 1),
        day: CalendarDay(unixSeconds: 0),
        domain: DomainDecision(domain: nil, confidence: 0.25, source: .abstained), personaID: nil,
        model: ModelName(provider: "p", model: "m"), risk: .calm, region: .unknown)

    private func events(_ bytes: [UInt8]) -> [StreamEvent] {
        var found: [StreamEvent] = []
        var parser = EventStreamParser()
        try? parser.feed(bytes) { event in
            if let decoded = try? StreamEvent(json: event.data) { found.append(decoded) }
        }
        return found
    }

    private func terminalEvents(_ ending: TurnEnding, kept: Int, cursor: Int? = nil) -> [StreamEvent] {
        var bytes: [UInt8] = []
        TerminalEvents(facts: facts, ending: ending, keptBytes: kept, cursor: cursor ?? kept).encode(into: &bytes)
        return events(bytes)
    }

    private func failure(_ ending: TurnEnding, hasLostAttempt: Bool = false, kept: Int, cursor: Int) -> StreamFailure? {
        var facts = facts
        facts.hasLostAttempt = hasLostAttempt
        var bytes: [UInt8] = []
        TerminalEvents(facts: facts, ending: ending, keptBytes: kept, cursor: cursor).encode(into: &bytes)
        guard case .error(let failure)? = events(bytes).last else { return nil }
        return failure
    }

    @Test("resources come before the error of a stream without text, whatever its turn has, and never behind text")
    func failureSafety() {
        let resources = StreamSafety(severity: .concern, tier: 2, categories: [], resources: [], message: "Help")
        func types(
            _ finishReason: FinishReason? = nil, kept: Int, from start: Int, to cursor: Int, hasLostAttempt: Bool = false
        ) -> [Bool] {
            var facts = facts
            facts.hasLostAttempt = hasLostAttempt
            let ending = TurnEnding(
                status: finishReason != nil ? .complete : kept > 0 ? .interrupted : .failed, finishReason: finishReason, bill: bill)
            var bytes: [UInt8] = []
            TerminalEvents(facts: facts, ending: ending, failureSafety: resources, keptBytes: kept, cursor: cursor, start: start)
                .encode(into: &bytes)
            return events(bytes).compactMap {
                switch $0 {
                case .safety: true
                case .error: false
                default: nil
                }
            }
        }
        #expect(types(kept: 0, from: 0, to: 0) == [true, false])
        #expect(types(kept: 9, from: 0, to: 9) == [false] && types(kept: 9, from: 5, to: 9) == [false])
        // Resumed with all text that is kept, or with more: of a turn that failed, of a lost attempt, and beyond the end.
        #expect(types(kept: 9, from: 9, to: 9) == [true, false] && types(kept: 0, from: 9, to: 9) == [true, false])
        #expect(types(.stop, kept: 4, from: 9, to: 9, hasLostAttempt: true) == [true, false])
        #expect(types(.stop, kept: 4, from: 9, to: 9) == [true, false])
    }

    @Test("a client that has read more than is kept gets the kept length, however the turn ended")
    func beyond() {
        let complete = TurnEnding(status: .complete, finishReason: .stop, bill: bill)
        let stopped = TurnEnding(status: .stopped, finishReason: .stopped, bill: nil)
        let interrupted = TurnEnding(status: .interrupted, finishReason: nil, bill: bill)
        // Text is lost only by a crash; the client keeps what is kept.
        #expect(failure(complete, kept: 9, cursor: 9) == nil)
        #expect(failure(complete, kept: 9, cursor: 10)?.code == .invalidInput)
        #expect(failure(interrupted, kept: 9, cursor: 20)?.keptBytes == 9)
        let stoppedInCrash = TurnEnding(status: .stopped, finishReason: .stopped, bill: bill, isByCrash: true)
        #expect(failure(stoppedInCrash, kept: 9, cursor: 9) == nil)
        let cut = failure(stoppedInCrash, kept: 9, cursor: 20)
        #expect(cut?.partial == true && cut?.keptBytes == 9 && cut?.code == .providersUnavailable)
        // The client's text may be of an earlier, lost attempt; it keeps nothing.
        for ending in [complete, stopped, interrupted] {
            let lost = failure(ending, hasLostAttempt: true, kept: 9, cursor: 10)
            #expect(lost?.partial == true && lost?.keptBytes == 0 && lost?.retryable == true)
        }
        #expect(failure(stopped, hasLostAttempt: true, kept: 0, cursor: 1)?.keptBytes == 0)
        #expect(failure(.withoutText, kept: 0, cursor: 20)?.keptBytes == 0)
        #expect(failure(complete, hasLostAttempt: true, kept: 9, cursor: 9) == nil)
        #expect(failure(interrupted, hasLostAttempt: true, kept: 9, cursor: 9)?.keptBytes == 9)
    }

    @Test("an answer that cannot be saved ends with a retryable error")
    func unsaved() {
        let told = failure(.unsaved(nil), kept: 9, cursor: 9)
        #expect(told?.code == .databaseUnavailable && told?.retryable == true && told?.retryAfter == 1)
    }

    private let bill = TurnBill(
        name: ModelName(provider: "p", model: "m"), usage: TokenUsage(input: 7, cachedInput: 3, output: 5, reasoning: 2),
        cost: Nanodollars(1234),
        estimated: false)

    @Test("a complete turn ends with usage and done")
    func complete() {
        let told = terminalEvents(TurnEnding(status: .complete, finishReason: .stop, bill: bill), kept: 9)
        guard case .usage(let usage)? = told.first, case .done(let done)? = told.last else {
            Issue.record("\(told)")
            return
        }
        #expect(usage.inputTokens == 10 && usage.cachedInputTokens == 3 && usage.outputTokens == 7 && usage.costUSD == "0.000001234")
        #expect(done.finishReason == .stop && done.messageID == facts.identity.messageID.uuid)
    }

    @Test("a text of the gateway's own ends with a usage that names no provider")
    func ownText() {
        let told = terminalEvents(TurnEnding(status: .complete, finishReason: .safety, bill: nil), kept: 9)
        guard case .usage(let usage)? = told.first else {
            Issue.record("\(told)")
            return
        }
        #expect(usage.provider == nil && usage.model == nil && usage.inputTokens == 0 && usage.costUSD == "0.000000")
    }

    @Test("a turn whose bill is not known ends with a usage of nothing, not of zeros")
    func deleted() {
        let told = terminalEvents(.deleted, kept: 9)
        guard case .usage(let usage)? = told.first, case .done(let done)? = told.last else {
            Issue.record("\(told)")
            return
        }
        #expect(usage.inputTokens == nil && usage.cachedInputTokens == nil && usage.outputTokens == nil && usage.costUSD == nil)
        #expect(done.finishReason == .stopped)
    }

    @Test("a cursor beyond the end of a turn that was billed gets its usage before the error")
    func beyondTheEnd() {
        let told = terminalEvents(TurnEnding(status: .complete, finishReason: .stop, bill: bill), kept: 9, cursor: 10)
        guard told.count == 2, case .usage = told[0], case .error(let failure) = told[1] else {
            Issue.record("\(told)")
            return
        }
        #expect(failure.code == .invalidInput && failure.keptBytes == 9)
    }

    @Test("an interrupted turn ends with usage and an error with the kept length")
    func interrupted() {
        guard case .error(let failure)? = terminalEvents(TurnEnding(status: .interrupted, finishReason: nil, bill: bill), kept: 9).last
        else {
            Issue.record("no error")
            return
        }
        #expect(failure.partial && failure.keptBytes == 9 && failure.retryable && failure.code == .providersUnavailable)
        #expect(failure.userMessage == "Coach is taking a moment. Let's try again.")
    }

    @Test("a failed turn that is read again ends with the error that it had")
    func failedBefore() {
        let limited = TurnEnding(status: .failed, finishReason: nil, bill: nil, retryAfter: 17)
        guard case .error(let pause)? = terminalEvents(limited, kept: 0).last else {
            Issue.record("no error")
            return
        }
        #expect(pause.code == .providersUnavailable && pause.retryAfter == 17)
        let spent = TurnEnding(status: .failed, finishReason: nil, bill: nil, errorCode: "BIZ_2002")
        let told = failure(spent, kept: 0, cursor: 0)
        #expect(told?.code == .quotaExhausted && told?.action == .upgrade && told?.partial == false)
    }

    @Test("a failed turn without a bill ends with the error alone")
    func failed() {
        let told = terminalEvents(TurnEnding(status: .failed, finishReason: nil, bill: nil), kept: 0)
        guard told.count == 1, case .error(let failure)? = told.first else {
            Issue.record("\(told)")
            return
        }
        #expect(!failure.partial && failure.keptBytes == 0)
    }

    @Test("the opening events are start, and safety if there is a card")
    func openingEvents() {
        var bytes: [UInt8] = []
        OpeningEvents(requestID: "r", safety: StreamSafety(severity: .acute, tier: 3, categories: ["suicide"], resources: [], message: "m"))
            .encode(facts, into: &bytes)
        let told = events(bytes)
        guard told.count == 2, case .start(let start) = told[0], case .safety(let safety) = told[1] else {
            Issue.record("\(told)")
            return
        }
        #expect(start.domain == nil && start.domainConfidence == 0.25 && start.requestID == "r" && start.model == "m")
        #expect(safety.tier == 3)
    }
}
