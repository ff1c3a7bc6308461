import Testing

@testable import CoachCore

@Suite("Safety fusion")
struct SafetyFusionTests {
    /// Levels after each turn, from calm.
    private func levels(_ turns: [String]) -> [Int] {
        var level = SafetyLevel.calm
        return turns.map { turn in
            level = Shipped.fusion.fuse(Shipped.reader.assess(turn).risk, stored: level).level
            return level.rawValue
        }
    }

    @Test("danger escalates at once and does not fall when the topic changes")
    func sticky() {
        #expect(levels(["honestly I want to die", "jk, forget it", "polish my resume please"]) == [2, 2, 2])
        #expect(levels(["I want a new job", "I'm going to kill myself tonight"]) == [0, 3])
    }

    @Test("ordinary dialogues stay calm, hard words included")
    func calm() {
        #expect(levels(["train me for a half marathon", "my legs are killing me", "yes", "tonight"]) == [0, 0, 0, 0])
        #expect(levels(["my manager is a bully", "she shouts at everyone", "yes", "I have them here"]) == [0, 0, 0, 0])
    }

    @Test("short answers escalate once danger was seen")
    func followUps() {
        #expect(levels(["I don't want to live anymore", "tonight"]) == [2, 3])
        #expect(levels(["honestly I want to die", "I have them here with me"]) == [2, 3])
        #expect(levels(["I feel so empty", "yes, I think about ending it sometimes", "no real plan, only thoughts"]) == [1, 2, 2])
        #expect(levels(["hoy quiero morirme", "esta noche"]) == [2, 3])
        #expect(levels(["my sister says she wants to die", "she has pills in her bag"]).last == 3)
    }

    @Test("a bare yes counts at level 1 only after the coach asked about safety")
    func yes() {
        let yes = Shipped.reader.assess("yes").risk
        #expect(Shipped.fusion.fuse(yes, stored: .concern).level == .concern)
        #expect(Shipped.fusion.fuse(yes, stored: .concern, coachAskedAboutSafety: true).level == .crisis)
        #expect(Shipped.reader.asksAboutSafety("Are you thinking about suicide?"))
        #expect(Shipped.reader.asksAboutSafety("¿Estás pensando en el suicidio?"))
        #expect(!Shipped.reader.asksAboutSafety("Shall we plan your week?"))
    }

    @Test("a calm message after danger keeps the careful prompt without another card")
    func stance() {
        let decision = Shipped.fusion.fuse(.calm, stored: .crisis)
        #expect(decision.risk.tier == .concern)
        #expect(decision.level == .crisis)
        #expect(decision.stance == .crisis)
    }

    @Test("follow-ups that counted for nothing leave no trace in the assessment")
    func noTrace() {
        let message = Shipped.reader.assess("tonight").risk
        #expect(message.tier == .none)
        #expect(Shipped.fusion.fuse(message, stored: .calm).risk.patterns.isEmpty)
    }

    @Test("only time lowers a level: to 1 after a day, to 0 after two")
    func decay() {
        #expect(SafetyFusion.decayed(.high, after: .seconds(3_600)) == .high)
        #expect(SafetyFusion.decayed(.high, after: .seconds(25 * 3_600)) == .concern)
        #expect(SafetyFusion.decayed(.concern, after: .seconds(25 * 3_600)) == .concern)
        #expect(SafetyFusion.decayed(.high, after: .seconds(49 * 3_600)) == .calm)
    }
}
