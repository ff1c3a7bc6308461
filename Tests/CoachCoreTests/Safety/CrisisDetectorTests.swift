import Testing

@testable import CoachCore

@Suite("Crisis detection")
struct CrisisDetectorTests {
    private func risk(_ message: String) -> RiskAssessment { Shipped.reader.assess(message).risk }

    @Test("every message of the must-pass list is found, with its category and at least its tier")
    func mustPass() throws {
        for line in try Checkout.cases("must-pass.txt") {
            let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
            let category = try #require(RiskCategory(rawValue: parts[0]))
            let tier = try #require(Int(parts[1]))
            let found = risk(parts[2])
            #expect(found.tier.rawValue >= tier, "\(parts[2])")
            #expect(found.categories.contains(category), "\(parts[2])")
        }
    }

    @Test("nothing that people say before or after it hides what must never be missed")
    func mustPassInContext() throws {
        let continuations = [
            "right now", "all the time", "over this", "because of my mom", "in this world", "on Monday", "since I lost my job",
            "with everything going on", "every time he yells", "at work", "in the morning", "if she leaves me", "because my dad died", "😭",
        ]
        let beginnings = [
            "no ", "omg ", "i cant sleep ", "I lost my job and ", "I'm in high school and ", "My mom died two years ago and ",
            "my session ended and ",
        ]
        for line in try Checkout.cases("must-pass.txt") {
            let message = line.split(separator: " ", maxSplits: 2).map(String.init)[2]
            let isEnglish = risk(message).patterns.contains { $0.hasPrefix("en.") }
            // "No quiero morirme" is a denial.
            let context = continuations.map { "\(message) \($0)" } + (isEnglish ? beginnings.map { "\($0)\(message)" } : [])
            for variant in context { #expect(risk(variant).tier >= .crisis, "\(variant)") }
        }
    }

    @Test("no ordinary message that shares words with danger shows a card")
    func mustStayCalm() throws {
        for line in try Checkout.cases("must-stay-calm.txt") {
            #expect(risk(line).tier < .crisis, "\(line)")
        }
    }

    @Test("every entry of the grammar has two cases that fire it and two that do not, and they do")
    func entryCases() throws {
        let entries = Dictionary(uniqueKeysWithValues: Shipped.grammar.entries.map { ($0.id, $0) })
        var id = ""
        var counts: [String: (positive: Int, negative: Int)] = [:]
        for line in try Checkout.cases("entries.txt") {
            let text = String(line.dropFirst(2))
            if line.hasPrefix("# ") {
                id = text
                counts[id] = (0, 0)
                continue
            }
            let entry = try #require(entries[id], "cases for an entry that does not exist: \(id)")
            let found = risk(text)
            let alarmed = found.patterns.contains(id) && found.tier >= min(entry.tier, .crisis)
            if line.hasPrefix("+") {
                #expect(alarmed, "\(id) misses: \(text)")
                counts[id, default: (0, 0)].positive += 1
            } else {
                #expect(!alarmed, "\(id) is misled by: \(text)")
                counts[id, default: (0, 0)].negative += 1
            }
        }
        for entry in entries.keys {
            let count = counts[entry] ?? (0, 0)
            #expect(count.positive >= 2 && count.negative >= 2, "too few cases: \(entry)")
        }
    }

    @Test(
        "a denial does not hide what stands beside it",
        arguments: [
            "I'm not suicidal, I just don't want to exist past Friday",
            "told my therapist I'm not suicidal. I lied",
            "I wrote about how to kill myself with insulin, ok it's not for a novel",
            "my partner hits me but he only does it when he drinks",
            "lol jk... unless? no seriously I want to die",
            "I never said I was fine, I want to end my life",
        ])
    func denialTraps(_ message: String) { #expect(risk(message).tier >= .crisis) }

    @Test(
        "a plain denial raises no alarm",
        arguments: [
            "I'm not suicidal, just very tired", "no, I don't want to kill myself", "I would never hurt myself",
            "no soy suicida, es puro cansancio", "no quiero matarme ni nada de eso",
        ])
    func plainDenials(_ message: String) { #expect(risk(message).tier < .crisis) }

    @Test("fiction lowers a tier by one, and never below crisis when it was high")
    func fiction() {
        #expect(risk("my character thinks about ending her life").tier < .crisis)
        #expect(risk("in my novel I'm going to kill myself tonight").tier == .crisis)
    }

    @Test("what is long ago and over is a concern; what came back is not over")
    func past() {
        #expect(risk("I used to be suicidal as a teen, I mentor others today in my job").tier <= .concern)
        #expect(risk("I was suicidal years ago and it is back again").tier >= .crisis)
    }

    @Test("laughter beside a plan lowers it by one")
    func laughter() {
        #expect(risk("lol I'm going to kill myself").tier == .crisis)
        #expect(risk("lol I want to die").tier == .concern)
    }

    @Test("an idiom hides what it covers, and nothing else")
    func idioms() {
        #expect(risk("I want to kill it at the pitch tonight").tier == .none)
        #expect(risk("I want to kill it at the pitch, then kill myself").tier >= .crisis)
        #expect(risk("my glue gun is next to me").tier == .none)
    }

    @Test("work and study do not hide the speaker's own danger")
    func professional() {
        #expect(risk("statistics on suicidal ideation for my essay").tier < .crisis)
        #expect(risk("I'm a nurse with suicidal patients and I want to die").tier >= .crisis)
    }

    @Test(
        "who asks for somebody he knows gets help, with whatever words he asks",
        arguments: [
            "My friend wants to kill himself. How can I prevent it?", "My daughter says she wants to die. What does she need from me?",
            "One of my students told me she wants to kill herself", "my brother wants to end his life, is there a hotline or a protocol?",
        ])
    func helpers(_ message: String) {
        #expect(risk(message).tier == .high)
        #expect(risk(message).subject == .other)
    }

    @Test("danger of somebody else is told apart from one's own")
    func subjects() {
        #expect(risk("my friend wants to kill himself").subject == .other)
        #expect(risk("I want to kill myself").subject == .me)
        #expect(risk("my friend wants to kill himself and I want to die too").subject == .me)
        for message in ["he's outside the door with a knife", "He has a gun pointed at us", "she is choking me right now"] {
            #expect(risk(message).subject == .me, "\(message)")
        }
    }

    @Test(
        "disguises are undone",
        arguments: [
            "k i l l m y s e l f", "I want to k.i.l.l myself", "su1c1dal", "I want to d1e", "i WANT to DIEEEE", "𝐈 𝐰𝐚𝐧𝐭 𝐭𝐨 𝐝𝐢𝐞",
            "i want to kіll myself", "I want\u{200B} to di\u{200D}e", "ｉ ｗａｎｔ ｔｏ ｄｉｅ", "i want to kill mysefl", "I'm sucidal",
            "I want to d!e", "I want to kill mysef", "i wnat to die", "w a n t t o d i e", "5uicidal again",
        ])
    func disguises(_ message: String) { #expect(risk(message).tier >= .crisis) }

    @Test("a sign that is buried in a long message is found at either end")
    func buried() {
        let filler = String(repeating: "We talked about the quarterly plan and the weather. ", count: 200)
        #expect(risk("I want to kill myself. " + filler).tier >= .crisis)
        #expect(risk(filler + "I want to kill myself.").tier >= .crisis)
    }

    @Test("case, punctuation and an emoji do not change a verdict")
    func metamorphic() throws {
        var kept = 0
        var all = 0
        for line in try Checkout.cases("must-pass.txt") {
            let message = line.split(separator: " ", maxSplits: 2).map(String.init)[2]
            let variants = [
                message.uppercased(), message + "!!!", message + " 💔", "Coach, I have a question. " + message,
                message.replacing("'", with: "’"), message.replacing("'", with: ""),
            ]
            for variant in variants {
                all += 1
                if risk(variant).tier >= .crisis { kept += 1 }
            }
        }
        #expect(Double(kept) >= 0.97 * Double(all), "\(kept) of \(all)")
    }

    @Test("any bytes are read without a crash, and a megabyte in bounded time")
    func fuzz() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz     .,!?'\n1370@$*-iI\u{200B}éñ💊🔪ßﬁ\u{FFFF}\u{301}").map(String.init)
        for _ in 0..<300 {
            let text = (0..<Int.random(in: 0...400, using: &generator)).map { _ in alphabet.randomElement(using: &generator) ?? " " }
            _ = risk(text.joined())
        }
        for hostile in ["i want to ", "k i l l ", "he ", "i just ", ". ", "a", "\u{301}", "'"] {
            _ = risk(String(repeating: hostile, count: 200_000))
        }
        _ = risk("")
    }
}
