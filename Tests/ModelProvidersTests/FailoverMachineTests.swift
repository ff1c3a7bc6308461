import CoachCore
import TestSupport
import Testing
import TokenRelay

@testable import ModelProviders

@Suite("FailoverMachine")
struct FailoverMachineTests {
    typealias Bench = MachineBench
    let start = MachineBench.start

    // MARK: The ordinary way

    @Test("a call asks the first choice, releases its text and ends with it")
    func ordinary() {
        var machine = Bench.at("idle", choices: 2)
        #expect(machine.begin(at: start) == .attempt(0))
        #expect(machine.accepted() == true)
        #expect(!machine.hasText)
        #expect(machine.receivedText(5, at: start) == .all)
        #expect(machine.hasText)
        #expect(machine.failure(of: .stop) == nil)
        #expect(machine.finished(.stop) == .end(.stop))
        #expect(machine.isEnded)
        #expect(machine.deadline == nil)
    }

    @Test("the model's own ends are told as they are", arguments: [ModelEnd.stop, .length, .filtered, .unknown])
    func ends(_ end: ModelEnd) {
        var machine = Bench.at("releasing")
        #expect(machine.failure(of: end) == nil && machine.finished(end) == .end(end))
    }

    @Test("an end without text is a failure: the next provider is asked, and the last one's own reason is told", arguments: emptyEnds)
    func empty(_ end: ModelEnd) throws {
        var machine = Bench.at("accepted", choices: 2)
        let failure = try #require(machine.failure(of: end))
        #expect(machine.finished(end) == .none && machine.failed(failure, at: start) == .attempt(1))
        _ = machine.accepted()
        let lastFailure = try #require(machine.failure(of: end))
        let last = machine.failed(lastFailure, at: start)
        if end == .length || end == .filtered { #expect(last == .end(end)) } else { #expect(last.fault == .cut) }
    }

    private static let emptyEnds = [ModelEnd.stop, .length, .filtered, .unknown]

    @Test("an end without text counts against the provider, unless a token limit or a filter explains it")
    func emptyBlame() {
        let machine = Bench.at("accepted")
        #expect([ModelEnd.stop, .unknown].allSatisfy { machine.failure(of: $0)?.blamesProvider == true })
        let explained = [ModelEnd.length, .filtered].map { machine.failure(of: $0) }
        #expect(explained.map { $0?.blamesProvider } == [false, false] && explained.map { $0?.blamesRequest } == [false, true])
    }

    // MARK: Refusals

    @Test("a refusal moves on to the next provider at once, whatever it was")
    func failover() {
        var machine = Bench.at("requesting", choices: 3)
        #expect(machine.failed(Bench.refusal(), at: start) == .attempt(1))
        #expect(machine.refused(at: start) == .none)
        #expect(machine.failed(Bench.refusal(mayRetry: true), at: start) == .attempt(2))
        #expect(machine.failed(Bench.refusal(mayRetry: true), at: start).fault == .refused)
    }

    @Test("a request with which a provider finds fault is sent to the next; one that could not be recorded is not")
    func badRequest() {
        var machine = Bench.at("requesting", choices: 2)
        var failure = Bench.refusal()
        failure.blamesRequest = true
        #expect(machine.failed(failure, at: start) == .attempt(1))
        #expect(machine.failed(failure, at: start).fault == .refused, "the same provider is not asked again")
        machine = Bench.at("requesting", choices: 2)
        failure.endsCall = true
        #expect(machine.failed(failure, at: start).fault == .refused)
    }

    @Test("another key of the same provider comes before the next provider, and does not use up the repetition")
    func anotherKey() {
        var machine = Bench.at("requesting")
        var failure = Bench.refusal(mayRetry: true)
        failure.hasAnotherKey = true
        #expect(machine.failed(failure, at: start) == .attempt(0))
        #expect(machine.failed(failure, at: start) == .attempt(0))
        #expect(machine.failed(Bench.refusal(mayRetry: true), at: start) == .pause)
    }

    @Test("the fault at the end names every attempt")
    func details() {
        var machine = Bench.at("requesting", choices: 2)
        _ = machine.failed(Bench.refusal("a: HTTP 500"), at: start)
        let end = machine.failed(Bench.refusal("b: connect"), at: start)
        #expect(end == .end(.failed(ModelFault(kind: .refused, detail: "a: HTTP 500; b: connect"))))
    }

    @Test("the fault at the end has the shortest pause, if every provider has named one")
    func pauses() {
        func end(_ pauses: Int?...) -> Int? {
            var machine = Bench.at("requesting", choices: pauses.count)
            var last = FailoverMachine.Action.none
            for pause in pauses {
                var failure = Bench.refusal()
                failure.fault.retryAfter = pause
                last = machine.failed(failure, at: start)
            }
            if case .end(.failed(let fault)) = last { return fault.retryAfter }
            return nil
        }
        #expect(end(7) == 7 && end(7, 3) == 3 && end(7, nil) == nil && end(nil, 7) == nil)
    }

    @Test("a lone provider that refused is asked once more after a pause, and only once")
    func retry() {
        var machine = Bench.at("requesting")
        #expect(machine.failed(Bench.refusal(mayRetry: true), at: start) == .pause)
        #expect(machine.deadline == start + .milliseconds(400))
        #expect(machine.timePassed(at: start + .milliseconds(399)) == .none)
        #expect(machine.timePassed(at: start + .milliseconds(400)) == .attempt(0))
        #expect(machine.failed(Bench.refusal(mayRetry: true), at: start + .milliseconds(401)).fault == .refused)
    }

    @Test("what must not be retried is not")
    func noRetry() {
        var machine = Bench.at("requesting")
        #expect(machine.failed(Bench.refusal(mayRetry: false), at: start).fault == .refused)
    }

    @Test("after 200 the same provider is not asked again, because it may bill")
    func noRetryAfterAcceptance() {
        var machine = Bench.at("accepted")
        #expect(machine.failed(Bench.refusal(mayRetry: true), at: start).fault == .refused)
    }

    @Test("after 200 but before text another provider takes over")
    func failoverAfterAcceptance() {
        var machine = Bench.at("accepted", choices: 2)
        #expect(machine.failed(AttemptFailure(fault: ModelFault(kind: .errorFrame, detail: "")), at: start) == .attempt(1))
    }

    @Test("after text nobody continues it", arguments: [ModelFault.Kind.cut, .errorFrame])
    func afterText(_ kind: ModelFault.Kind) {
        var machine = Bench.at("releasing", choices: 3)
        #expect(machine.failed(AttemptFailure(fault: ModelFault(kind: kind, detail: ""), mayRetry: true), at: start).fault == kind)
    }

    @Test("the body of an error response is waited for briefly, then judged without it")
    func refusalBody() {
        var machine = Bench.at("refusing", choices: 2)
        #expect(machine.deadline == start + .milliseconds(500))
        #expect(machine.timePassed(at: start + .milliseconds(499)) == .none)
        #expect(machine.timePassed(at: start + .milliseconds(500)) == .classifyErrorResponse)
        #expect(machine.failed(Bench.refusal(), at: start + .milliseconds(500)) == .attempt(1))
    }

    // MARK: Bound

    @Test("an answer that outgrows its bound is released up to it, and ends as too long")
    func bound() {
        var machine = Bench.at("accepted")
        #expect(machine.receivedText(65_530, at: start) == .all)
        #expect(machine.receivedText(6, at: start) == .all)
        #expect(machine.receivedText(5, at: start) == .atMost(0))
        #expect(machine.reachedBound().fault == .tooLong)
        machine = Bench.at("accepted")
        #expect(machine.receivedText(65_537, at: start) == .atMost(65_536))
        #expect(machine.reachedBound().fault == .tooLong)
    }

    // MARK: Cancel

    @Test("a cancel ends the call in every state but the last", arguments: MachineBench.stages)
    func cancel(_ stage: String) {
        var machine = Bench.at(stage, choices: stage == "pausing" ? 1 : 2)
        #expect(machine.cancelled() == (stage == "ended" ? .none : .end(.cancelled)))
        #expect(machine.cancelled() == .none)
        #expect(machine.deadline == nil)
    }
}
