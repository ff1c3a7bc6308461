import CoachCore
import Testing
import TokenRelay

@testable import ModelProviders

@Suite("CircuitBreaker")
struct CircuitBreakerTests {
    let start = MonotonicInstant.now

    func opened() -> CircuitBreaker {
        var breaker = CircuitBreaker()
        for _ in 0..<CircuitBreaker.failuresToOpen { breaker.failed(at: start) }
        return breaker
    }

    @Test("it opens after five failures in a row")
    func opens() {
        var breaker = CircuitBreaker()
        for _ in 0..<4 {
            breaker.failed(at: start)
            #expect(breaker.isClosed)
        }
        #expect(breaker.admits(at: start) == true)
        breaker.failed(at: start)
        #expect(!breaker.isClosed)
        #expect(breaker.admits(at: start) == false)
    }

    @Test("what only an operator can mend opens it at once, and for longer")
    func needsOperator() {
        var breaker = CircuitBreaker()
        breaker.failedForOperator(at: start)
        #expect(breaker.admits(at: start + CircuitBreaker.cooldown) == false)
        #expect(breaker.admits(at: start + CircuitBreaker.cooldownForOperator) == true)
    }

    @Test("a success in between starts the count anew")
    func counts() {
        var breaker = CircuitBreaker()
        for _ in 0..<4 { breaker.failed(at: start) }
        breaker.succeeded()
        for _ in 0..<4 { breaker.failed(at: start) }
        #expect(breaker.isClosed)
    }

    @Test("after its cooldown it lets one probe through")
    func probes() {
        var breaker = opened()
        #expect(breaker.admits(at: start + .milliseconds(9999)) == false)
        #expect(breaker.admits(at: start + .seconds(10)) == true)
        #expect(breaker.admits(at: start + .seconds(10)) == false)
    }

    @Test("a successful probe closes the circuit, a failed one opens it for another cooldown")
    func probeResults() {
        var breaker = opened()
        _ = breaker.admits(at: start + .seconds(10))
        breaker.failed(at: start + .seconds(11))
        #expect(breaker.admits(at: start + .seconds(20)) == false)
        #expect(breaker.admits(at: start + .seconds(21)) == true)
        breaker.succeeded()
        #expect(breaker.isClosed)
        #expect(breaker.admits(at: start + .seconds(21)) == true)
    }

    @Test("a probe that tells nothing is followed by another")
    func lostProbe() {
        var breaker = opened()
        _ = breaker.admits(at: start + .seconds(10))
        #expect(breaker.admits(at: start + .seconds(20)) == true)
    }

    @Test("failures while it is open do not prolong its cooldown")
    func noProlonging() {
        var breaker = opened()
        breaker.failed(at: start + .seconds(9))
        #expect(breaker.admits(at: start + .seconds(10)) == true)
    }
}
