import Foundation
import Testing

@testable import CoachCore

@Suite("The output guard")
struct OutputGuardTests {
    private static let rules = Shipped.outputGuard

    /// An answer that contains forbidden text: `kind language| answer with [[what must not be released]]`.
    struct Attack: CustomTestStringConvertible {
        var kind: OutputRules.Kind
        var language: String
        var answer: String
        var forbidden: [String]
        var testDescription: String { answer }

        static func all() throws -> [Attack] {
            try Checkout.cases("output-attacks.txt").map { line in
                let parts = line.split(separator: "|", maxSplits: 1)
                let head = parts[0].split(separator: " ")
                let marked = String(parts[1].drop { $0 == " " })
                let forbidden = marked.components(separatedBy: "[[").dropFirst().compactMap { $0.components(separatedBy: "]]").first }
                return Attack(
                    kind: try #require(OutputRules.Kind(rawValue: String(head[0]))), language: String(head[1]),
                    answer: marked.replacing("[[", with: "").replacing("]]", with: ""), forbidden: forbidden)
            }
        }
    }

    /// The text released for an answer that arrives in the given pieces.
    static func release(
        _ pieces: [ArraySlice<UInt8>], language: String = "en", holdsSentences: Bool = false
    ) -> (text: String, replaced: [OutputRules.Kind]) {
        var answer = GuardedAnswer(rules, language: language, holdsSentences: holdsSentences)
        var text: [UInt8] = []
        for piece in pieces {
            piece.withUnsafeBufferPointer { bytes in
                switch answer.take(bytes) {
                case .piece: text += bytes
                case .output: text += answer.output
                }
            }
        }
        answer.finish()
        text += answer.output
        return (String(decoding: text, as: UTF8.self), answer.replaced)
    }

    static func release(_ text: String, language: String = "en", holdsSentences: Bool = false) -> (
        text: String, replaced: [OutputRules.Kind]
    ) {
        release([Array(text.utf8)[...]], language: language, holdsSentences: holdsSentences)
    }

    @Test("releases no forbidden text, and the same text however the answer is split into pieces")
    func attacks() throws {
        let attacks = try Attack.all()
        #expect(attacks.count >= 300)
        for attack in attacks {
            let bytes = Array("\(attack.answer) Then we go on.".utf8)
            let whole = Self.release([bytes[...]], language: attack.language)
            #expect(whole.replaced.contains(attack.kind), "\(attack.answer) → \(whole)")
            for forbidden in attack.forbidden { #expect(!Self.said(whole, attack).contains(forbidden), "\(whole.text)") }
            #expect(whole.text.hasSuffix(" Then we go on.") || attack.kind == .instructions, "\(whole.text)")
            let single = Self.release(bytes.indices.map { bytes[$0...$0] }, language: attack.language)
            #expect(single.text == whole.text)
            for cut in bytes.indices {
                let halves = Self.release([bytes[..<cut], bytes[cut...]], language: attack.language)
                guard halves.text != whole.text else { continue }
                Issue.record("cut at \(cut): \(halves.text) instead of \(whole.text)")
                break
            }
            let sentences = Self.release([bytes[...]], language: attack.language, holdsSentences: true)
            for forbidden in attack.forbidden { #expect(!Self.said(sentences, attack).contains(forbidden)) }
        }
    }

    /// The model's own part of a released text.
    private static func said(_ released: (text: String, replaced: [OutputRules.Kind]), _ attack: Attack) -> String {
        released.replaced.reduce(released.text) { $0.replacing(rules.replacements[attack.language]?[$1] ?? "", with: "") }
    }

    @Test("releases harmless answers unchanged, however they are split")
    func calm() throws {
        for line in try Checkout.cases("output-calm.txt") {
            let bytes = Array(line.utf8)
            for pieces in [[bytes[...]], bytes.indices.map { bytes[$0...$0] }] {
                for holdsSentences in [false, true] {
                    let released = Self.release(pieces, holdsSentences: holdsSentences)
                    #expect(released.text == line && released.replaced.isEmpty, "\(released)")
                }
            }
        }
    }

    @Test("never removes released text: every piece only adds text")
    func prefix() {
        var answer = GuardedAnswer(Self.rules, language: "en", holdsSentences: false)
        var text: [UInt8] = []
        for byte in "Call 1-555-010-9999 now. I'm a real person.".utf8 {
            let piece = [byte]
            piece.withUnsafeBufferPointer { bytes in
                if answer.take(bytes) == .piece { text.append(byte) } else { text += answer.output }
            }
        }
        answer.finish()
        text += answer.output
        let released = String(decoding: text, as: UTF8.self)
        #expect(released.hasPrefix("Call … I only pass on numbers"))
        #expect(released.contains("I'm a real … To be clear: I'm an AI"))
        #expect(answer.withheldBytes > 20 && answer.replaced == [.phone, .identity])
    }

    @Test("replaces the first forbidden sentence of a kind by a fixed text, and removes later ones")
    func once() {
        let released = Self.release("You should kill yourself. Just end it all. Let us talk.")
        #expect(released.replaced == [.encouragement, .encouragement])
        #expect(released.text.components(separatedBy: "You matter").count == 2 && released.text.hasSuffix(" Let us talk."))
    }

    @Test(
        "replaces a sentence in its own language, and an English one or a phone number in that of the user's device",
        arguments: [
            ("en", "Esto queda entre nosotros.", "es"), ("en", "Mereces morir.", "es"), ("es", "Das bleibt unter uns.", "de"),
            ("de", "Je suis humain.", "fr"), ("xx", "Você é um fardo.", "pt"), ("es", "My lips are sealed.", "es"),
            ("en", "Llama al 900 000 000.", "en"), ("fr", "Call 1-555-010-1234 now.", "fr"),
            // Both Spanish and Portuguese.
            ("pt", "Te juro silencio.", "pt"), ("es", "Te juro silencio.", "es"), ("en", "Te juro silencio.", "es"),
        ])
    func language(device: String, answer: String, expected: String) throws {
        let released = Self.release(answer, language: device)
        let kind = try #require(released.replaced.first)
        let text = try #require(Self.rules.replacements[expected]?[kind])
        #expect(released.replaced.count == 1 && released.text.hasSuffix(text), "\(released)")
    }

    @Test("withholds an answer from where it repeats the system prompt")
    func canary() throws {
        let prompt = String(decoding: try Checkout.data("prompts/system.md"), as: UTF8.self)
        #expect(prompt.contains("quillvane"))
        for leak in ["Sure! Here they are: \(prompt)", "You are Coach, an AI coach. \(prompt.dropFirst(200))"] {
            let released = Self.release(leak)
            #expect(released.replaced == [.instructions] && released.text.utf8.count < 200, "\(released.text)")
        }
    }

    @Test("a pause of the model releases held words, but no digits of a number that may be one to call")
    func pause() {
        var answer = GuardedAnswer(Self.rules, language: "en", holdsSentences: false)
        func take(_ text: String) -> String {
            Array(text.utf8).withUnsafeBufferPointer { answer.take($0) == .piece ? text : String(decoding: answer.output, as: UTF8.self) }
        }
        #expect(take("You should kill") == "You should " && answer.isWaiting)
        answer.releaseHeld()
        #expect(String(decoding: answer.output, as: UTF8.self) == "kill" && !answer.isWaiting)
        #expect(take(" time. Call 1-800-555") == " time. Call ")
        #expect(!answer.isWaiting)
        answer.releaseHeld()
        #expect(answer.output.isEmpty)
        #expect(take("-0199 now. ").hasPrefix("… I only pass on numbers"))
    }

    @Test("releases whole sentences at tier 2 and above")
    func sentences() {
        var answer = GuardedAnswer(Self.rules, language: "en", holdsSentences: true)
        func take(_ text: String) -> String {
            Array(text.utf8).withUnsafeBufferPointer { answer.take($0) == .piece ? text : String(decoding: answer.output, as: UTF8.self) }
        }
        #expect(take("I am glad ") == "")
        #expect(take("you told me. You") == "I am glad you told me. ")
        #expect(take(" are not alone.\n") == "You are not alone.\n")
        // Scripts whose sentences end without a space.
        #expect(take("私はここにいます。明日") == "私はここにいます。")
        #expect(take("も。मैं यहाँ हूँ। कल") == "明日も。मैं यहाँ हूँ।")
    }

    @Test("holds less than one of two hundred tokens of ordinary text")
    func holding() throws {
        var tokens = 0
        var held = 0
        var tails: [String: Int] = [:]
        for file in try Checkout.files(in: "domains/rows", suffix: ".jsonl").values {
            for line in file.split(separator: UInt8(ascii: "\n")) {
                guard let text = try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any], let message = text["text"] as? String
                else { continue }
                var answer = GuardedAnswer(Self.rules, language: "en", holdsSentences: false)
                var waiting: [UInt8] = []
                for token in Self.tokens(message) {
                    let release = token.withUnsafeBufferPointer { answer.take($0) }
                    waiting = release == .piece ? [] : Array((waiting + token).suffix(answer.heldBytes))
                    tokens += 1
                    guard answer.heldBytes > 0 else { continue }
                    held += 1
                    tails[String(decoding: waiting, as: UTF8.self), default: 0] += 1
                }
            }
        }
        #expect(tokens > 40_000)
        #expect(
            Double(held) <= 0.005 * Double(tokens),
            "\(held) of \(tokens) tokens were held: \(tails.sorted { $0.value > $1.value }.prefix(60))")
    }

    /// A text in pieces like those of a model: a space with up to five letters.
    private static func tokens(_ text: String) -> [ArraySlice<UInt8>] {
        let bytes = Array(text.utf8)
        var tokens: [ArraySlice<UInt8>] = []
        var start = 0
        for index in bytes.indices.dropFirst() {
            let isBoundary = bytes[index] & 0xC0 != 0x80 && (bytes[index] == UInt8(ascii: " ") || index - start >= 6)
            guard isBoundary else { continue }
            tokens.append(bytes[start..<index])
            start = index
        }
        return tokens + (start < bytes.count ? [bytes[start...]] : [])
    }

    @Test("takes at most 0.3 µs for a token of ordinary text", .enabled(if: !_isDebugAssertConfiguration(), "measured in release builds"))
    func cost() throws {
        let text = try Checkout.cases("output-calm.txt").prefix(12).joined(separator: " ")
        let tokens = Self.tokens(String(repeating: text + " ", count: 20))
        let best =
            (0..<20).map { _ in
                ContinuousClock().measure {
                    var answer = GuardedAnswer(Self.rules, language: "en", holdsSentences: false)
                    for token in tokens { token.withUnsafeBufferPointer { _ = answer.take($0) } }
                }
            }.min() ?? .zero
        let nanoseconds = Double(best.components.attoseconds) / 1e9 / Double(tokens.count)
        #expect(nanoseconds <= 300, "\(nanoseconds) ns")
    }

    @Test("rejects more patterns than the automaton has lanes for")
    func lanes() throws {
        let file = String(decoding: try Checkout.data("domains/safety/output-guard.json"), as: UTF8.self)
        // One takes more than half a lane.
        let patterns = String(repeating: #""a b c d e f g h i j k l <0-10> !y <0-10> z", "#, count: 50)
        let longer = file.replacing(#""!quillvane","#, with: patterns + #""!quillvane","#)
        #expect(longer != file)
        let error = #expect(throws: ConfigurationRejected.self) { try OutputRules(json: Array(longer.utf8)) }
        #expect(error?.findings.map(\.path) == ["rules"])
    }

    @Test("rejects rules with unknown classes, no held element, several words in one and unknown keys")
    func invalid() throws {
        let file = String(decoding: try Checkout.data("domains/safety/output-guard.json"), as: UTF8.self)
        for (part, other) in [
            ("!quillvane", "quillvane"), ("!quillvane", "!{NOWHERE}"), ("!quillvane", "!(quill vane|x)"), ("!quillvane", "!("),
            ("!quillvane", "the !quillvane|$"),
            ("\"version\": ", "\"more\": 2, \"version\": "),
        ] {
            #expect(file.contains(part))
            #expect(throws: ConfigurationRejected.self) { try OutputRules(json: Array(file.replacing(part, with: other).utf8)) }
        }
    }
}
