import Foundation
import Testing

@testable import CoachCore

@Suite("Texts of safety cards")
struct CrisisTextTests {
    /// Words that ask a user to open or unlock a door, by language.
    private static let openDoor = [
        "en": ["unlock", "open the door", "leave the door"], "es": ["puerta abierta", "abre la puerta", "abras la puerta"],
        "de": ["tür auf", "tür offen", "öffne"], "fr": ["porte ouverte", "ouvre la porte", "déverrouille"],
        "pt": ["porta aberta", "abra a porta", "destranque"],
    ]

    private func card(
        _ tier: RiskTier, _ categories: [RiskCategory], _ language: String, _ subject: RiskSubject = .user
    ) -> SafetyCard {
        Shipped.resources.card(
            for: RiskAssessment(tier: tier, categories: categories, subject: subject, patterns: []),
            in: Region(country: "GB", locale: language))
    }

    private func texts(_ card: SafetyCard) -> [String] { [card.message, card.opening, card.fixedAnswer].compactMap(\.self) }

    private func asksToOpenDoor(_ text: String, _ language: String) -> Bool {
        (Self.openDoor[language] ?? []).contains { text.lowercased().contains($0) }
    }

    @Test("a victim of abuse is never asked to open or unlock a door", arguments: CrisisResources.languages)
    func door(language: String) {
        for tier in RiskTier.allCases {
            for category in [RiskCategory.abuse, .violence, .psychosis] {
                for subject in [RiskSubject.user, .other, .unclear] {
                    for text in texts(card(tier, [category, .suicide], language, subject)) {
                        #expect(!asksToOpenDoor(text, language), "\(text)")
                    }
                }
            }
        }
        // An ambulance needs an open door.
        for category in [RiskCategory.suicide, .substance, .eatingDisorder] {
            #expect(asksToOpenDoor(card(.imminent, [category], language).fixedAnswer, language), "\(category)")
        }
    }

    @Test("the fixed text at tier 4 is that of the category", arguments: CrisisResources.languages)
    func fixedImminent(language: String) {
        let variants = Shipped.resources.texts[language]?.messages[.fixedImminent] ?? [:]
        let categories = [RiskCategory.abuse, .violence, .psychosis, .substance]
        for category in categories {
            let text = variants[category.rawValue] ?? "missing"
            #expect(card(.imminent, [category], language).fixedAnswer.hasPrefix(text), "\(category)")
        }
        #expect(Set(variants.values).count == categories.count + 2)
    }

    @Test("no language lacks a variant that another one has", arguments: CrisisResources.languages)
    func sameVariants(language: String) {
        func names(_ language: String) -> [CrisisResources.MessageKind: Set<String>]? {
            Shipped.resources.texts[language]?.messages.mapValues { Set($0.keys) }
        }
        #expect(names(language) == names("en"))
    }

    @Test(
        "a card for the stored level alone says why it is shown, not that something was told now",
        arguments: [
            ("en", "You told me about something hard before"), ("es", "Antes me contaste"), ("de", "Du hast mir schon einmal"),
            ("fr", "Tu m'as déjà parlé"), ("pt", "Você já me contou"),
        ])
    func reminder(language: String, start: String) {
        let region = Region(country: "US", locale: language)
        let reminder = Shipped.fusion.fuse(.calm, stored: .crisis, turnNumber: 1).risk
        let shown = Shipped.resources.card(for: reminder, in: region)
        #expect(shown.tier == .crisis && shown.severity == .concern && shown.categories.isEmpty && shown.opening == nil)
        #expect(shown.resources.contains { $0.phone == "988" } && shown.resources.count <= CrisisResources.maximumOnCard)
        for card in [shown, Shipped.resources.all(in: region)] {
            #expect(card.message.hasPrefix(start) && card.fixedAnswer.hasPrefix(start), "\(card.message)")
        }
    }

    @Test("a reminder is in the language of a message with a pattern of one language")
    func reminderLanguage() {
        let message = RiskAssessment(tier: .concern, categories: [], subject: .user, patterns: ["es.x", "model.concern"])
        let reminder = Shipped.fusion.fuse(message, stored: .crisis, turnNumber: 10).risk
        let card = Shipped.resources.card(for: reminder, in: Region(country: "US", locale: "en-US"))
        #expect(reminder.isReminder && card.message.hasPrefix("Antes me contaste"), "\(card.message)")
    }

    @Test(
        "what to text and the number are joined in the language of the card",
        arguments: [
            ("en", "text HOME to 741741"), ("es", "envía un mensaje: AYUDA al 741741"), ("de", "schreiben: HOME an 741741"),
            ("fr", "envoie un message : HOME au 741741"), ("pt", "envie uma mensagem: HOME para 741741"),
        ])
    func textMessage(language: String, line: String) {
        let risk = RiskAssessment(tier: .high, categories: [.suicide], subject: .user, patterns: [])
        let card = Shipped.resources.card(for: risk, in: Region(country: "US", locale: language))
        #expect(card.fixedAnswer.contains(line), "\(card.fixedAnswer)")
        #expect(language == "en" || card.resources.allSatisfy { $0.sms?.contains(" to ") != true })
    }

    @Test("a file without the texts for abuse, violence or a reminder is rejected")
    func required() throws {
        let text = String(decoding: try Checkout.data("domains/safety/resources.json"), as: UTF8.self)
        let lines = text.split(separator: "\n").filter { !$0.contains(#""violence": ""#) && !$0.contains(#""police_name": ""#) }
        let reduced = lines.joined(separator: "\n").replacing(#""reminder": {"#, with: #""reminders": {"#)
        let error = #expect(throws: ConfigurationRejected.self) { try CrisisResources(json: Array(reduced.utf8)) }
        let findings = error?.findings.map(\.description) ?? []
        for path in ["fixed_imminent.violence", "opening.violence", "reminder"] {
            #expect(findings.contains { $0.contains("texts.de.messages.\(path)") }, "\(findings)")
        }
        #expect(findings.contains { $0.contains("texts.fr.police_name") })
    }
}
