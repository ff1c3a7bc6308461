import Testing

@testable import CoachCore

@Suite("Safety fusion")
struct SafetyFusionTests {
    /// The level after each turn, starting from calm.
    private func levels(_ turns: [String]) -> [Int] {
        var level = SafetyLevel.calm
        return turns.map { turn in
            level = Shipped.fusion.fuse(Shipped.assessor.assess(turn).risk, stored: level).level
            return level.rawValue
        }
    }

    @Test("the level rises at once and does not fall when the topic changes")
    func sticky() {
        #expect(levels(["honestly I want to die", "jk, forget it", "polish my resume please"]) == [2, 2, 2])
        #expect(levels(["I want a new job", "I'm going to kill myself tonight"]) == [0, 3])
    }

    @Test("ordinary dialogues with hard words stay calm")
    func calm() {
        #expect(levels(["train me for a half marathon", "my legs are killing me", "yes", "tonight"]) == [0, 0, 0, 0])
        #expect(levels(["my manager is a bully", "she shouts at everyone", "yes", "I have them here"]) == [0, 0, 0, 0])
    }

    @Test("short answers raise the level after earlier danger")
    func followUps() {
        #expect(levels(["I don't want to live anymore", "tonight"]) == [2, 3])
        #expect(levels(["honestly I want to die", "I have them here with me"]) == [2, 3])
        #expect(levels(["I feel so empty", "yes, I think about ending it sometimes", "no real plan, only thoughts"]) == [1, 2, 2])
        #expect(levels(["hoy quiero morirme", "esta noche"]) == [2, 3])
        #expect(levels(["my sister says she wants to die", "she has pills in her bag"]).last == 3)
    }

    @Test("a short answer is about the danger and the person of before")
    func earlierDanger() {
        let friend = EarlierDanger(categories: [.violence], subject: .other)
        let tonight = Shipped.assessor.assess("tonight").risk
        let risk = Shipped.fusion.fuse(tonight, stored: .crisis, earlierDanger: friend).risk
        #expect(risk.tier == .high && risk.categories == [.violence] && risk.subject == .other)
        let own = Shipped.fusion.fuse(Shipped.assessor.assess("I'm going to kill myself").risk, stored: .crisis, earlierDanger: friend).risk
        #expect(own.categories.first == .suicide && own.subject == .user, "a message that names a danger is about that")
        #expect(Shipped.fusion.fuse(tonight, stored: .crisis).risk.categories == [.suicide], "without a danger that is known")
        // A question about suicide is answered about suicide, and about the one who is asked.
        let asked = Shipped.assessor.question(in: "And you, are you thinking of suicide?")
        let yes = Shipped.fusion.fuse(Shipped.assessor.assess("yes").risk, stored: .concern, earlierDanger: friend, question: asked).risk
        #expect(yes.categories == [.suicide] && yes.subject != .other)
        let will = Shipped.fusion.fuse(Shipped.assessor.assess("I'll do it").risk, stored: .crisis, earlierDanger: friend).risk
        #expect(will.categories.first == .violence)
        #expect(Shipped.fusion.fuse(tonight, stored: .high, earlier: risk).risk.subject == .other, "answered again")
    }

    @Test("a message that is answered again has the tier that it had, although it has itself raised the level")
    func again() {
        let message = Shipped.assessor.assess("I cut myself again yesterday").risk
        let first = Shipped.fusion.fuse(message, stored: .calm)
        #expect(first.risk.tier == .crisis && first.level == .crisis)
        #expect(Shipped.fusion.fuse(message, stored: first.level).risk.tier > .crisis, "said twice")
        #expect(Shipped.fusion.fuse(message, stored: first.level, earlier: first.risk).risk == first.risk)
        // Since then another message has raised the level further: now the follow-up counts.
        #expect(Shipped.fusion.fuse(message, stored: .high, earlier: first.risk).risk.tier > .crisis)
        // A follow-up that counted counts again, also when its reason is gone.
        let tonight = Shipped.assessor.assess("tonight").risk
        let raised = Shipped.fusion.fuse(tonight, stored: .crisis)
        #expect(raised.risk.tier == .high)
        #expect(Shipped.fusion.fuse(tonight, stored: .high, earlier: raised.risk).risk == raised.risk)
    }

    @Test(
        "a bare yes counts without earlier danger after a question that names suicide",
        arguments: [
            ("Are you thinking about suicide?", "yes", "no"), ("¿Has pensado en quitarte la vida?", "sí", "no"),
            ("Denkst du daran, dir das Leben zu nehmen?", "ja", "nein"), ("Est-ce que tu penses au suicide ?", "oui", "non"),
            ("Você está pensando em se matar?", "sim", "não"),
        ])
    func question(_ question: String, _ yes: String, _ no: String) {
        let asked = Shipped.assessor.question(in: question)
        #expect(asked.topics.contains(.namedDanger))
        let answers = [yes, no].map { Shipped.assessor.assess($0).risk }
        let levels = answers.map { Shipped.fusion.fuse($0, stored: .calm, question: asked).level }
        #expect(levels == [.crisis, .calm] && Shipped.fusion.hasFollowUp(answers[0]))
        for harmless in [
            "Do you have a plan for Monday?", "You could hurt yourself with that weight.", "Bist du in Sicherheit?",
            "If you ever have suicidal thoughts, call 988. Shall I make a plan for Monday?",
            "Hamlet is about wanting to die… Well. Shall I outline act two?",
        ] {
            #expect(!Shipped.assessor.question(in: harmless).topics.contains(.namedDanger))
        }
    }

    @Test(
        "short answers count after danger: those of safety after a question about it, what was done or is feared without one; who is there does not",
        arguments: [
            ("weiß nicht", true, RiskTier.crisis), ("weiß nicht", false, .none), ("je crois que non", true, .crisis),
            ("acho que não", true, .crisis), ("creo que no", true, .crisis), ("i dont think so", true, .crisis),
            ("schon genommen", false, .high), ("déjà pris", false, .high), ("tarde demais", false, .high),
            ("minha irmã está aqui", true, .none), ("estão aqui comigo meus pais", true, .none),
            ("I might do something stupid", false, .crisis), ("creo que va a hacer una locura", false, .crisis),
            ("ich hab Angst dass sie eine Dummheit macht", false, .crisis), ("j'ai peur qu'il fasse une bêtise", false, .crisis),
            ("acho que ele vai fazer alguma besteira", false, .crisis), ("I did something stupid at work", false, .none),
        ])
    func shortAnswers(message: String, asked: Bool, tier: RiskTier) {
        let risk = Shipped.grammarAlone.assess(message).risk
        let stored: SafetyLevel = tier == .high ? .crisis : .concern
        #expect(Shipped.fusion.fuse(risk, stored: stored, question: CoachQuestion(isAboutSafety: asked)).risk.tier == tier)
    }

    @Test("a decision is raised to a higher risk, with the categories of both, and not lowered")
    func raised() {
        var decision = Shipped.fusion.fuse(.calm, stored: .calm)
        decision.raise(to: RiskAssessment(tier: .crisis, categories: [.suicide], subject: .user, patterns: []))
        #expect(decision.risk.tier == .crisis && decision.risk.categories == [.suicide] && decision.level == .crisis)
        let before = decision
        decision.raise(to: .calm)
        #expect(decision == before)
        var reminder = Shipped.fusion.fuse(.calm, stored: .crisis, turnNumber: 1)
        #expect(reminder.risk.isReminder)
        reminder.raise(to: before.risk)
        #expect(reminder.risk.tier == .crisis && reminder.risk.patterns.isEmpty)
    }

    @Test("a bare yes counts at level 1 only after the coach asked about safety")
    func yes() {
        let yes = Shipped.assessor.assess("yes").risk
        #expect(Shipped.fusion.fuse(yes, stored: .concern).level == .concern)
        #expect(Shipped.fusion.fuse(yes, stored: .concern, question: CoachQuestion(isAboutSafety: true)).level == .crisis)
        #expect(Shipped.fusion.fuse(yes, stored: .calm, question: CoachQuestion(isAboutSafety: true)).level == .calm)
        #expect(Shipped.assessor.question(in: "Are you thinking about suicide?").isAboutSafety)
        #expect(Shipped.assessor.question(in: "¿Estás pensando en el suicidio?").isAboutSafety)
        #expect(!Shipped.assessor.question(in: "Shall we plan your week?").isAboutSafety)
    }

    @Test(
        "a short answer counts by what the coach asked: yes to a question of danger, no to one of safety, neither to another one",
        arguments: [
            ("Are you thinking about suicide?", "yes", "no"), ("I'm here. Are you safe right now?", "no", "yes"),
            ("¿Tienes un plan?", "sí", "no"), ("Es gibt Hilfe bei Suizidgedanken. Bist du in Sicherheit?", "nein", "ja"),
            ("Es-tu en sécurité maintenant ?", "non", "oui"), ("Tem alguém com você?", "não", "sim"),
            ("Can you call 988 now?", "no", "yes"),
        ])
    func polarity(coach: String, danger: String, calm: String) {
        let question = Shipped.assessor.question(in: coach)
        func tier(_ answer: String, _ stored: SafetyLevel, _ question: CoachQuestion) -> RiskTier {
            Shipped.fusion.fuse(Shipped.grammarAlone.assess(answer).risk, stored: stored, question: question).risk.tier
        }
        for stored in [SafetyLevel.concern, .crisis] {
            #expect(tier(danger, stored, question) == .crisis && tier(calm, stored, question) < .crisis, "\(stored)")
        }
        let both = Shipped.assessor.question(in: "Are you thinking about killing yourself? Are you safe?")
        #expect(tier(danger, .concern, both) == .crisis && tier(calm, .concern, both) == .crisis)
        let everyday = Shipped.assessor.question(in: "Shall we plan your workout?")
        #expect(tier(danger, .crisis, everyday) < .crisis && tier(calm, .crisis, everyday) < .crisis)
    }

    @Test(
        "an answer in danger counts after a crisis however the coach has asked",
        arguments: [
            ("Are you still having those thoughts?", "yes"), ("Do you still feel that way?", "sometimes"),
            ("Are you going to act on it?", "yes"), ("Have you taken anything?", "yes"), ("Do you want to disappear?", "yes"),
            ("Are you feeling unsafe right now?", "yes"),
            ("Will you be safe tonight?", "no"), ("Can you keep yourself safe?", "i dont know"), ("Is anyone there with you?", "no"),
            ("So you don't feel safe right now?", "yes"), ("You don't feel safe at home?", "yes"),
            ("Do you need someone to call 911 for you?", "yes"), ("Shall we look at your week?", "not safe"),
        ])
    func however(coach: String, answer: String) {
        let (risk, question) = (Shipped.grammarAlone.assess(answer).risk, Shipped.assessor.question(in: coach))
        #expect(Shipped.fusion.fuse(risk, stored: .crisis, question: question).risk.tier >= .crisis)
    }

    @Test("tonight counts after a concern")
    func whenAfterConcern() {
        let question = Shipped.assessor.question(in: "When do you think about it?")
        #expect(Shipped.fusion.fuse(Shipped.grammarAlone.assess("tonight").risk, stored: .concern, question: question).risk.tier == .crisis)
    }

    @Test("tonight counts after a crisis, but not as the time of a workout")
    func when() {
        func tier(_ coach: String, _ answer: String) -> RiskTier {
            let risk = Shipped.grammarAlone.assess(answer).risk
            return Shipped.fusion.fuse(risk, stored: .crisis, question: Shipped.assessor.question(in: coach)).risk.tier
        }
        for coach in ["I'm here with you.", "When?", "Do you have a plan?", "When do you want to do it?"] {
            #expect(tier(coach, "tonight") == .high)
        }
        for coach in ["When do you want to do your workout?", "¿Cuándo es tu reunión?"] { #expect(tier(coach, "hoy") < .crisis) }
    }

    @Test(
        "who says to be safe and nothing else shows no danger, whatever the models make of it",
        arguments: [
            ("yes I'm safe, my sister is with me", "Are you safe right now?"), ("sí, mi hermana está aquí", "¿Estás a salvo ahora?"),
            ("sí, estoy a salvo, estoy con mi mamá", "Bien."), ("ja, ich bin in Sicherheit, meine Mutter ist hier", "Gut."),
            ("oui, ma mère est avec moi", "Es-tu en sécurité ?"), ("sim, minha irmã está comigo", "Você está em segurança?"),
        ])
    func assurance(message: String, coach: String) {
        let alone = Shipped.assessor.assessFully(message)
        let question = Shipped.assessor.question(in: coach)
        let risk = Shipped.assessor.assurance(message, alone, after: coach)?.risk
        #expect(risk.map { Shipped.fusion.fuse($0, stored: .high, question: question).risk.tier } == .concern)
    }

    @Test(
        "what says more, or answers another question, is no assurance",
        arguments: [
            ("yes I'm safe, I took the pills", "Are you safe?"), ("I'm not safe", "Are you safe?"),
            ("yes, my dad is here", "Is he hurting you?"), ("yes", "Are you thinking about suicide?"),
            ("he is here with me", "Are you safe?"), ("ja, er ist bei mir", "Bist du in Sicherheit?"),
        ])
    func noAssurance(message: String, coach: String) {
        #expect(Shipped.assessor.assurance(message, Shipped.assessor.assessFully(message), after: coach) == nil)
    }

    @Test("a calm message after a crisis keeps the careful prompt without another card")
    func promptTier() {
        let decision = Shipped.fusion.fuse(.calm, stored: .crisis)
        #expect(decision.risk.tier == .concern)
        #expect(decision.level == .crisis)
        #expect(decision.promptTier == .crisis)
    }

    @Test("at a stored level of 2 the first and every tenth turn of a conversation have a card without danger in the message")
    func reminder() {
        func reminds(_ turn: Int, _ stored: SafetyLevel, _ message: RiskAssessment = .calm) -> Bool {
            Shipped.fusion.fuse(message, stored: stored, turnNumber: turn).risk.isReminder
        }
        #expect((1...21).filter { reminds($0, .crisis) } == [1, 10, 20])
        #expect(!reminds(1, .concern) && reminds(1, .high))
        let danger = Shipped.assessor.assess("I want to kill myself").risk
        #expect(!reminds(1, .high, danger))
        let risk = Shipped.fusion.fuse(.calm, stored: .crisis, turnNumber: 1).risk
        #expect(risk.tier < .crisis && risk.hasCard && danger.hasCard && !RiskAssessment.calm.hasCard)
    }

    @Test("follow-ups that do not count are removed from the assessment")
    func unusedFollowUps() {
        let message = Shipped.assessor.assess("tonight").risk
        #expect(message.tier == .none)
        #expect(Shipped.fusion.fuse(message, stored: .calm).risk.patterns.isEmpty)
    }
}
