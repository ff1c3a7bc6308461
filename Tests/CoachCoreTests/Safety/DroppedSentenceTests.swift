import Testing

@testable import CoachCore

@Suite("The rest of a forbidden sentence")
struct DroppedSentenceTests {
    /// The text released for an answer, which must be the same however the answer is split in two, and for single bytes.
    private static func release(_ text: String, holdsSentences: Bool = false) -> String {
        let bytes = Array(text.utf8)
        let whole = OutputGuardTests.release(text, holdsSentences: holdsSentences).text
        let single = OutputGuardTests.release(bytes.indices.map { bytes[$0...$0] }, holdsSentences: holdsSentences).text
        #expect(single == whole, "\(text) in single bytes")
        for cut in bytes.indices {
            let halves = OutputGuardTests.release([bytes[..<cut], bytes[cut...]], holdsSentences: holdsSentences).text
            #expect(halves == whole, "\(text) cut at \(cut)")
        }
        return whole
    }

    @Test(
        "ends with every mark that ends a sentence, also before quotation marks and white space outside ASCII",
        arguments: [
            ".” ", ".’ ", ".»\u{A0}", ".) ", ".** ", ". ", ".  ", "… ", "...” ", "! ", "!\u{A0}", "?\u{2003}", ".\u{3000}", ".\u{202F}",
            ".\u{A0}\u{A0}",
            "‼ ", "⁉\u{FE0F} ", "。", "。 ", "｡", "！ ", "？", "।", "؟ ", "۔ ", "\u{2028}", "\u{85}", "\n", "\r\n", ".\n\n", "。\n",
            ", if you can't. ", ", at 3.5. ", ", N. ", " 🙂. ",
        ])
    func ends(mark: String) {
        for holdsSentences in [false, true] {
            for match in ["You should kill yourself", "You should kill yourself, today", "You should kill yourself today"] {
                let released = Self.release("\(match)\(mark)Next one.", holdsSentences: holdsSentences)
                #expect(released.contains("stay safe.") && released.hasSuffix("Next one."), "\(released)")
                #expect(!released.contains("today") && !released.contains("safe.Next"), "\(released)")
            }
        }
    }

    @Test(
        "leaves the next sentence whole, whatever it starts with",
        arguments: ["École.", "¿Sí?", "“Next” one.", "(Next one.)", "**Next** one.", "明天。", "🙂 Next one.", "Ärger. Und?", "- Next one."])
    func next(sentence: String) {
        for space in [" ", "\u{A0}", "\n", " \u{2003}"] {
            let released = Self.release("You should kill yourself.\(space)\(sentence)")
            #expect(released.hasSuffix("stay safe.\(space)\(sentence)"), "\(released)")
        }
    }

    @Test(
        "goes on after the full stop of an abbreviation or of a number, and before a small letter or a digit",
        arguments: [
            "You should kill yourself, e.g. HIDDEN. ", "You should kill yourself at 3.5 HIDDEN. ",
            "You should kill yourself, i.e. not HIDDEN. ",
            "You should kill yourself, z. B. HIDDEN. ", "You should kill yourself, z.B. HIDDEN. ",
            "You should kill yourself by approx. 0 HIDDEN. ",
            "You should kill yourself, says Dr. J. HIDDEN. ", "You should kill yourself, ggf. HIDDEN. ",
            "You should kill yourself, p. ej., HIDDEN. ",
            "You should kill yourself (etc.), HIDDEN. ", "You should kill yourself… with HIDDEN. ", "You should kill yourself. à HIDDEN. ",
            "You should kill yourself (!) with HIDDEN. ", "You should kill yourself.\u{A0}é HIDDEN. ",
            "You should kill yourself v2.HIDDEN. ",
            "You should kill yourself, **Dr.** HIDDEN. ", "I'm Dr. HIDDEN. ", "I'm Dr.\u{A0}HIDDEN.” ",
        ])
    func goesOn(answer: String) {
        for holdsSentences in [false, true] {
            let released = Self.release("\(answer)Next one.", holdsSentences: holdsSentences)
            #expect(!released.contains("HIDDEN") && released.hasSuffix(" Next one."), "\(released)")
        }
    }

    @Test("counts every byte that is not released, and holds none at the end of a sentence")
    func counts() {
        var answer = GuardedAnswer(Shipped.outputGuard, language: "en", holdsSentences: false)
        func take(_ text: String) { Array(text.utf8).withUnsafeBufferPointer { _ = answer.take($0) } }
        take("You should kill yourself.")
        #expect(answer.withheldBytes == 14)
        take(" \u{2003}")
        #expect(answer.withheldBytes == 14 && answer.heldBytes == 4 && !answer.isWaiting)
        take("and. ")
        #expect(answer.withheldBytes == 22 && answer.heldBytes == 1)
        take("É")
        #expect(answer.withheldBytes == 22 && answer.heldBytes == 0)
        #expect(String(decoding: answer.output, as: UTF8.self) == " É")
    }

    @Test("a pause of the model releases no part of a character")
    func pause() {
        var answer = GuardedAnswer(Shipped.outputGuard, language: "en", holdsSentences: false)
        func take(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { _ = answer.take($0) } }
        take([0xC3])
        #expect(answer.output.isEmpty && answer.heldBytes == 1 && !answer.isWaiting)
        answer.releaseHeld()
        #expect(answer.output.isEmpty)
        take([0xA9])
        #expect(answer.output == [0xC3, 0xA9])
    }
}
