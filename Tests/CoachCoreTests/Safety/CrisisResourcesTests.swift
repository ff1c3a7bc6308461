import Foundation
import Testing

@testable import CoachCore

@Suite("Crisis resources")
struct CrisisResourcesTests {
    private func risk(
        _ tier: RiskTier, _ categories: [RiskCategory] = [.suicide], _ subject: RiskSubject = .user, patterns: [String] = ["en.x"]
    ) -> RiskAssessment {
        RiskAssessment(tier: tier, categories: categories, subject: subject, patterns: patterns)
    }

    private func phones(_ card: SafetyCard) -> [String] { card.resources.compactMap(\.phone) }

    @Test("the explicit country has precedence over the region of the locale")
    func country() {
        let card = Shipped.resources.card(for: risk(.crisis), in: Region(country: "gb", locale: "en-US"))
        #expect(phones(card).contains("116 123"))
        #expect(!phones(card).contains("988"))
        #expect(phones(Shipped.resources.card(for: risk(.crisis), in: Region(locale: "en_US"))).first == "988")
        #expect(phones(Shipped.resources.card(for: risk(.crisis), in: Region(locale: "en-AU,en;q=0.9"))).contains("13 11 14"))
    }

    @Test(
        "territories and aliases get the resources of their country",
        arguments: [("GU", "US"), ("je", "GB"), ("UK", "GB")])
    func aliases(_ code: String, _ country: String) {
        #expect(
            phones(Shipped.resources.card(for: risk(.crisis), in: Region(country: code, locale: "en")))
                == phones(Shipped.resources.card(for: risk(.crisis), in: Region(country: country, locale: "en"))))
    }

    @Test("an unknown country never gets the numbers of the United States", arguments: [nil, "XX", "ZZ", "JP", "1!", "ß"] as [String?])
    func unknownCountry(_ country: String?) {
        for tier in [RiskTier.crisis, .high, .imminent] {
            let card = Shipped.resources.card(for: risk(tier), in: Region(country: country, locale: "en"))
            #expect(phones(card).isEmpty)
            #expect(card.resources.contains { $0.url == "https://findahelpline.com" })
            #expect(card.resources.contains { $0.name.contains("local emergency number") })
        }
    }

    @Test("at tier 4 the emergency number is first, in every country")
    func emergencyFirst() {
        for (code, country) in Shipped.resources.countries {
            let card = Shipped.resources.card(for: risk(.imminent), in: Region(country: code))
            #expect(card.resources.first?.phone == country.emergencyNumber)
            #expect(card.severity == .acute)
            #expect(card.resources.count <= CrisisResources.maximumOnCard)
        }
    }

    @Test("specialised helplines are on cards of their category")
    func categories() {
        let abuse = Shipped.resources.card(for: risk(.crisis, [.abuse]), in: Region(country: "US"))
        #expect(phones(abuse).first == "1-800-799-7233")
        let overdose = Shipped.resources.card(for: risk(.imminent, [.substance]), in: Region(country: "US"))
        #expect(Array(phones(overdose).prefix(2)) == ["911", "1-800-222-1222"])
        #expect(!phones(Shipped.resources.card(for: risk(.crisis), in: Region(country: "US"))).contains("1-800-799-7233"))
    }

    @Test("Spanish-speaking users in the United States get Spanish resources and texts")
    func spanish() {
        for card in [
            Shipped.resources.card(for: risk(.crisis), in: Region(country: "US", locale: "es")),
            Shipped.resources.card(for: risk(.crisis, patterns: ["es.suicide.wish"]), in: Region(country: "US", locale: "en-US")),
        ] {
            #expect(card.resources.first?.sms == "AYUDA al 988")
            #expect(card.message.hasPrefix("Gracias"))
        }
        #expect(Shipped.resources.card(for: risk(.crisis), in: Region(country: "MX")).message.hasPrefix("Gracias"))
    }

    @Test(
        "a message, a locale or a country decides on the language of the texts, in this order",
        arguments: [
            (["de.suicide.stated", "model.suicide"], "en-US", nil, "Danke"), (["de.x", "en.x"], "fr", nil, "Merci"),
            (["model.suicide"], "pt-BR", "US", "Obrigado"), ([], nil, "DE", "Danke"), ([], nil, "FR", "Merci"), ([], nil, "BR", "Obrigado"),
            ([], "ja", "BR", "Thank"), (["mi.x"], nil, "NZ", "Thank"), (["judge.suicide", "es.x"], "en-US", nil, "Gracias"),
            (["state.x", "model.suicide", "pt.x"], nil, "US", "Obrigado"), (["judge.suicide"], "fr", nil, "Merci"),
        ] as [([String], String?, String?, String)])
    func language(patterns: [String], locale: String?, country: String?, start: String) {
        let card = Shipped.resources.card(for: risk(.crisis, patterns: patterns), in: Region(country: country, locale: locale))
        #expect(card.message.hasPrefix(start), "\(card.message)")
    }

    @Test("a language that no line of the country speaks costs nobody a number", arguments: CrisisResources.languages + ["ja"])
    func unspoken(language: String) {
        for (code, country) in Shipped.resources.countries where language != country.language {
            let own = Shipped.resources.card(for: risk(.crisis), in: Region(country: code))
            let card = Shipped.resources.card(for: risk(.crisis), in: Region(country: code, locale: language))
            #expect(Set(phones(card)).isSuperset(of: Set(phones(own))), "\(code)")
        }
    }

    @Test("the number for violence is that of the police, where it is another one")
    func police() {
        func first(_ category: RiskCategory) -> String? {
            Shipped.resources.card(for: risk(.imminent, [category]), in: Region(country: "BR")).resources.first?.phone
        }
        #expect([.suicide, .substance, .abuse, .violence].map(first) == ["192", "192", "190", "190"])
    }

    @Test("the police is in the full list, too, where it has another number", arguments: CrisisResources.languages)
    func policeInList(language: String) {
        for (code, country) in Shipped.resources.countries {
            let listed = Shipped.resources.all(in: Region(country: code, locale: language)).resources
            #expect(listed[0].phone == country.emergencyNumber, "\(code)")
            guard let number = country.policeNumber else { continue }
            #expect(listed[1].phone == number && listed[1].name != listed[0].name, "\(code)")
        }
        #expect(Set(Shipped.resources.countries.filter { $0.value.policeNumber != nil }.keys) == ["BR", "CL", "PE"])
    }

    @Test("Puerto Rico has Spanish lines first, and English ones for those who write English")
    func puertoRico() {
        let spanish = Shipped.resources.card(for: risk(.crisis, patterns: []), in: Region(country: "PR"))
        #expect(spanish.message.hasPrefix("Gracias") && spanish.resources.first?.sms == "AYUDA al 988")
        #expect(spanish.resources.allSatisfy { $0.country == "PR" || $0.country == nil })
        let english = Shipped.resources.card(for: risk(.crisis), in: Region(country: "PR", locale: "en"))
        #expect(english.resources.first?.name == "988 Suicide & Crisis Lifeline")
        let all = Shipped.resources.all(in: Region(country: "PR")).resources
        #expect(Set(all.map(\.phone)) == Set(Shipped.resources.all(in: Region(country: "US")).resources.map(\.phone)))
    }

    @Test("the name of a line of a city or region says so, and national lines are there beside it")
    func regionalLines() {
        func names(_ country: String, _ phone: String) -> [String] {
            Shipped.resources.all(in: Region(country: country)).resources.filter { $0.phone == phone }.map(\.name)
        }
        #expect(names("AR", "135").first?.hasSuffix("(CABA y Gran Buenos Aires)") == true)
        #expect(names("CO", "106").first?.hasSuffix("(Bogotá)") == true)
        let argentina = phones(Shipped.resources.card(for: risk(.crisis), in: Region(country: "AR")))
        #expect(argentina == ["(011) 5275-1135", "0800-999-0091", "135"])
        #expect(phones(Shipped.resources.card(for: risk(.crisis, [.abuse]), in: Region(country: "CO"))).first == "155")
    }

    @Test("danger of another person has a message for helpers")
    func other() {
        let card = Shipped.resources.card(for: risk(.high, [.suicide], .other), in: Region(country: "US"))
        #expect(card.message.contains("worried about someone else"))
    }

    @Test("every tier, category, subject, language and country has a message, a fixed answer and resources")
    func complete() {
        for tier in [RiskTier.crisis, .high, .imminent] {
            for category in RiskCategory.allCases {
                for subject in [RiskSubject.user, .other, .unclear] {
                    for locale in CrisisResources.languages + ["ja"] {
                        for country in Array(Shipped.resources.countries.keys) + ["ZZ"] {
                            let card = Shipped.resources.card(
                                for: risk(tier, [category], subject), in: Region(country: country, locale: locale))
                            #expect(card.message.count > 80 && card.fixedAnswer.count > 80)
                            #expect(!card.resources.isEmpty)
                            #expect(card.message.allSatisfy { !$0.isNumber })
                        }
                    }
                }
            }
        }
    }

    @Test("an acute card has an opening, with the emergency number first at tier 4; a concern has none")
    func opening() throws {
        func opening(_ tier: RiskTier, _ locale: String) -> String? {
            let risk = RiskAssessment(tier: tier, categories: [.abuse], subject: .user, patterns: ["en.x"])
            return Shipped.resources.card(for: risk, in: Region(country: "GB", locale: locale)).opening
        }
        #expect(opening(.crisis, "en") == nil && opening(.high, "en")?.contains("not your fault") == true)
        #expect(opening(.imminent, "en")?.hasSuffix("call 999") == true)
        #expect(opening(.imminent, "es")?.contains("peligro") == true)
    }

    @Test("entries that were last checked more than a year ago are named")
    func outdated() throws {
        let text = String(decoding: try Checkout.data("domains/safety/resources.json"), as: UTF8.self)
        let mark = #""verified_with": "samhsa.gov""#
        let dated = text.replacing(mark, with: #""verified_on": "2026-01-31", \#(mark)"#)
        let resources = try CrisisResources(json: Array(dated.utf8))
        func lines(_ day: String) throws -> [String] { resources.outdated(on: try #require(CalendarDay(day))) }
        #expect(try lines("2027-01-31").isEmpty)
        #expect(try lines("2027-02-01") == ["SAMHSA National Helpline was last verified on 2026-01-31"])
    }

    @Test("the full list of a country has every resource, with those for veterans")
    func all() {
        let card = Shipped.resources.all(in: Region(country: "US"))
        #expect(card.resources.contains { $0.sms == "838255" })
        #expect(card.resources.first?.phone == "911")
    }

    @Test("an invalid file is rejected with all findings")
    func findings() {
        let json = """
            {"version": 0, "countries": {"us": {"emergency": "911", "language": "en", "resources": [{"name": "x", "phone": "1"}]}},
             "same_as": {"UK": "XX"}, "international": [], "texts": {}, "extra": 1}
            """
        let error = #expect(throws: ConfigurationRejected.self) { try CrisisResources(json: Array(json.utf8)) }
        #expect((error?.findings.count ?? 0) >= 7)
        #expect(error?.findings.contains { $0.description.contains("same_as.UK") } == true)
    }
}
