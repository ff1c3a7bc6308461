import CoachCore
import Testing

@testable import HTTPEdge

@Suite("Callers who were rejected")
struct RejectedCallersTests {
    @Test("a caller is known until its rejection ends, and a flood of them is bounded")
    func ends() {
        let (rejected, user, now) = (RejectedCallers(), UserID.random(), ContinuousClock.now)
        #expect(!rejected.contains(user, now: now))
        rejected.insert(user, seconds: 5, now: now)
        #expect(rejected.contains(user, now: now + .seconds(4)) && !rejected.contains(.random(), now: now))
        #expect(!rejected.contains(user, now: now + .seconds(5)) && !rejected.contains(user, now: now))
        rejected.insert(user, seconds: 5, now: now)
        for _ in 1...10_000 { rejected.insert(.random(), seconds: 5, now: now) }
        #expect(!rejected.contains(user, now: now))
    }
}
