import Foundation
import Testing

@testable import CoachCore

@Suite("Crisis grammar")
struct CrisisGrammarTests {
    @Test("pattern syntax is parsed")
    func notation() throws {
        let pattern = try WordPattern("^ {I} <0-2> (want|would like) to? die/d $")
        #expect(pattern.startsSentence && pattern.endsSentence)
        #expect(pattern.elements.count == 4)
        #expect(pattern.elements[1].gap == 0...2)
        #expect(pattern.elements[1].alternatives == [.phrase("want"), .phrase("would like")])
        #expect(pattern.elements[2].optional)
        #expect(pattern.elements[3].alternatives == [.phrase("die"), .phrase("died")])
        #expect(try WordPattern("a <~0-3> b").elements[1].crossesSentences)
    }

    @Test(
        "invalid pattern syntax is rejected",
        arguments: ["", "<0-2> a", "a <0-2>", "a? b", "a <3-1> b", "a <0-99> b", "{open", "(a|b", "()", "a ^ b", "a $ b", "don't", "/s"])
    func invalidSyntax(_ text: String) { #expect(throws: WordPattern.SyntaxError.self) { try WordPattern(text) } }

    @Test("an invalid file is rejected with all findings")
    func findings() {
        let json = """
            {"version": 1, "classes": {"A": ["x", "{NONE}"]}, "markers": {"filler": ["y"], "odd": []}, "corrected": ["abc"],
             "entries": [{"id": "en.a", "language": "en", "category": "sorrow", "tier": 9, "subject": "self", "patterns": ["{B}"]},
                         {"id": "en.a", "language": "xx", "category": "abuse", "tier": 2, "subject": "you", "patterns": ["a?"], "note": 1}],
             "idioms": [], "follow_ups": []}
            """
        let error = #expect(throws: ConfigurationRejected.self) { try CrisisGrammar(json: Array(json.utf8)) }
        let problems = (error?.findings ?? []).map(\.description)
        for expected in [
            "{NONE}", "markers.odd", "corrected[0]", "sorrow", "tier", "{B}", "en.a", "language", "subject", "note", "optional",
        ] {
            if expected == "sorrow" {
                #expect(problems.contains { $0.contains("entries[0].category") })
            } else {
                #expect(problems.contains { $0.contains(expected) }, "\(expected)")
            }
        }
    }

    @Test("a file that is not a JSON object is one finding", arguments: ["", "[]", "{", "null"])
    func notJSON(_ text: String) {
        let error = #expect(throws: ConfigurationRejected.self) { try CrisisGrammar(json: Array(text.utf8)) }
        #expect(error?.findings.count == 1)
    }

    @Test("ids begin with the language of their entry, from which the card takes its language")
    func ids() {
        for entry in Shipped.grammar.entries { #expect(entry.id.hasPrefix(entry.language + ".")) }
        for followUp in Shipped.grammar.followUps { #expect(followUp.id.hasPrefix(followUp.language + ".")) }
    }
}
