import CoachCore
import Testing

@testable import ChatAPI

@Suite("Users in danger lately")
struct RecentDangerTests {
    private let region = Region(country: "GB", locale: nil)

    @Test("their level is known for two days, and not lowered by a later one; a calm one is not noted")
    func lifetime() {
        let recent = RecentDanger()
        let (user, other, start) = (UserID.random(), UserID.random(), ContinuousClock.now)
        recent.note(user, .high, in: region, at: start)
        recent.note(other, .calm, in: region, at: start)
        #expect(recent.state(of: user, at: start) == (.high, region) && recent.state(of: other, at: start) == (.calm, .unknown))
        recent.note(user, .concern, in: region, at: start + .seconds(3_600))
        #expect(recent.state(of: user, at: start + .seconds(47 * 3_600)).level == .high)
        #expect(recent.state(of: user, at: start + .seconds(50 * 3_600)) == (.calm, .unknown))
    }

    @Test("removed ones are forgotten, and those who are calm by now")
    func forgotten() async throws {
        let recent = RecentDanger()
        let (removed, past, other, now) = (UserID.random(), UserID.random(), UserID.random(), ContinuousClock.now)
        recent.note(past, .high, in: region, at: now)
        recent.note(removed, .high, in: region, at: now + .seconds(48 * 3_600))
        recent.note(other, .high, in: region, at: now + .seconds(48 * 3_600))
        try await recent.forget(
            removed: { users in
                #expect(Set(users) == [removed, other])
                return [removed]
            }, at: now + .seconds(48 * 3_600))
        // At a time at which none of them has expired.
        #expect([removed, past, other].map { recent.state(of: $0, at: now).level } == [.calm, .calm, .high])
    }

    @Test("of too many the one noted first is forgotten")
    func bounded() {
        let recent = RecentDanger()
        let (first, second, start) = (UserID.random(), UserID.random(), ContinuousClock.now)
        recent.note(first, .crisis, in: region, at: start)
        recent.note(second, .crisis, in: region, at: start + .seconds(1))
        for _ in 0..<9_999 { recent.note(.random(), .concern, in: region, at: start + .seconds(2)) }
        #expect(recent.state(of: first, at: start + .seconds(2)).level == .calm)
        #expect(recent.state(of: second, at: start + .seconds(2)).level == .crisis)
    }
}
