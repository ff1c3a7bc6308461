import CoachCore
import Testing

@testable import ChatAPI

@Suite("Users in danger lately")
struct RecentDangerTests {
    @Test("their level is known for a day; a calm one is not noted, and the number of users is bounded")
    func lifetime() {
        let recent = RecentDanger()
        let (user, other, start) = (UserID.random(), UserID.random(), ContinuousClock.now)
        let region = Region(country: "GB", locale: nil)
        recent.note(user, .high, in: region, at: start)
        recent.note(other, .calm, in: region, at: start)
        #expect(recent.state(of: user, at: start) == (.high, region) && recent.state(of: other, at: start) == (.calm, .unknown))
        #expect(recent.state(of: user, at: start + .seconds(86_401)) == (.calm, .unknown))
        for _ in 0..<10_000 { recent.note(.random(), .concern, in: .unknown, at: start) }
        recent.note(other, .crisis, in: region, at: start)
        #expect(recent.state(of: other, at: start).level == .calm)
        recent.note(other, .crisis, in: region, at: start + .seconds(86_401))
        #expect(recent.state(of: other, at: start + .seconds(86_401)).level == .crisis)
    }
}
