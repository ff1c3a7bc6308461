import Foundation
import JSON
import Testing

@testable import CoachCore

@Suite("Domain configuration")
struct DomainConfigurationTests {
    private func files() throws -> [String: [UInt8]] { try Checkout.files(in: "domains", suffix: ".json") }

    @Test("the seven shipped files are valid, with guidance of 120 to 250 words each")
    func shipped() {
        #expect(Shipped.domains.all.map(\.domain) == Domain.allCases)
        for configuration in Shipped.domains.all {
            let words = configuration.systemPrompt.split(whereSeparator: \.isWhitespace).count
            #expect((120...250).contains(words), "\(configuration.domain): \(words)")
        }
    }

    @Test("a missing and a duplicate domain are both reported")
    func missingAndTwice() throws {
        var files = try files()
        files["fitness.json"] = files["mindset.json"]
        let error = #expect(throws: ConfigurationRejected.self) { try DomainConfigurations(files: files) }
        let problems = error?.findings.map(\.problem) ?? []
        #expect(problems.contains(.missing))
        #expect(problems.contains(.invalid("is the id of another file: mindset")))
    }

    @Test("a phrase whose endings make too many terms is named and not expanded")
    func terms() throws {
        let file = try #require(try files()["fitness.json"])
        func findings(_ phrase: String) throws -> [String] {
            var json = try #require(try JSONSerialization.jsonObject(with: Data(file)) as? [String: Any])
            json["routing"] = ["en": ["1": ["run/s/ning", phrase]], "es": [:]] as [String: [String: [String]]]
            let bytes = Array(try JSONSerialization.data(withJSONObject: json))
            let (_, findings) = JSONReader.collect(bytes) { (json) throws(JSONFinding) in try DomainConfiguration(json) }
            return findings.map(\.path)
        }
        #expect(try findings("step/mom/dad/kids walk/s/ing") == [])
        let phrases = [Array(repeating: "x/a/b", count: 13).joined(separator: " "), String(repeating: "/ ", count: 40)]
        for phrase in phrases { #expect(try findings(phrase) == ["routing.en.1[1]"], "\(phrase)") }
        #expect(PhraseExpansion.count("step/mom/dad walk/s") == PhraseExpansion.expand("step/mom/dad walk/s").count)
    }

    @Test("all findings of a file are reported, with their paths")
    func findings() {
        let json = """
            {"id": "juggling", "version": "one", "name": "", "tone": 3, "colour": "red", "boundaries": ["x"], "starters": [],
             "system_prompt": "\(String(repeating: "word ", count: 60)) {{profile}}", "routing": {"en": {"99": ["a"]}, "fr": {}}}
            """
        let error = #expect(throws: ConfigurationRejected.self) {
            try DomainConfigurations(files: ["juggling.json": Array(json.utf8)])
        }
        let paths = Set(error?.findings.map(\.path) ?? [])
        for path in [
            "id", "version", "name", "tone", "colour", "boundaries[0]", "starters", "system_prompt", "routing.en.99", "routing.fr",
            "routing.es", "description", "methodology", "greeting",
        ] {
            #expect(paths.contains(path), "\(path)")
        }
    }
}
