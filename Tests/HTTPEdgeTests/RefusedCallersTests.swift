import CoachCore
import Testing

@testable import HTTPEdge

@Suite("Callers who were refused")
struct RefusedCallersTests {
    @Test("a caller is known until the refusal ends, and a flood of them is bounded")
    func ends() {
        let (refused, user, now) = (RefusedCallers(), UserID.random(), ContinuousClock.now)
        #expect(!refused.contains(user, now: now))
        refused.insert(user, seconds: 5, now: now)
        #expect(refused.contains(user, now: now + .seconds(4)) && !refused.contains(.random(), now: now))
        #expect(!refused.contains(user, now: now + .seconds(5)) && !refused.contains(user, now: now))
        refused.insert(user, seconds: 5, now: now)
        for _ in 1...10_000 { refused.insert(.random(), seconds: 5, now: now) }
        #expect(!refused.contains(user, now: now))
    }
}
