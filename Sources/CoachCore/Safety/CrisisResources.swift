/// The crisis resources of `domains/safety/resources.json` by country, category and language, and the texts of safety cards.
public struct CrisisResources: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        var resource: CrisisResource
        /// The names in other languages, where they differ.
        var names: [String: String]
        /// The only language that it serves (ISO 639-1), such as Spanish for some lines in the United States.
        var language: String?
        /// Empty for general lines.
        var categories: Set<RiskCategory>
        /// Only in the list of `all(in:)`, never on a card for a message.
        var listedOnly: Bool
        /// The day of the last verification; nil: the file has none.
        var verifiedOn: CalendarDay?
    }

    struct Country: Sendable, Equatable {
        var emergencyNumber: String
        /// The emergency number for abuse and violence, where it differs.
        var policeNumber: String?
        var language: String
        var entries: [Entry]
    }

    /// A kind of message in the file. The raw values are its keys.
    enum MessageKind: String, CaseIterable, Sendable {
        /// Card messages by tier: up to 2, 3, 4.
        case concern, acute, imminent
        /// Introductions of `SafetyCard.fixedAnswer`: up to tier 3, 4.
        case fixed
        case fixedImminent = "fixed_imminent"
        /// `SafetyCard.opening`: tier 3, 4.
        case opening
        case openingImminent = "opening_imminent"
    }

    /// The texts of one language.
    struct Texts: Sendable, Equatable {
        /// By kind, then by `RiskCategory`, "default", or "other" (danger of another person).
        var messages: [MessageKind: [String: String]]
        /// Name of the emergency number in a known country.
        var emergencyName: String
        /// Name of the emergency number when the country is unknown.
        var localEmergencyName: String
        /// The verbs before a phone number and an SMS instruction.
        var call: String
        var text: String
    }

    /// ISO 639-1 languages in which the file has texts.
    static let languages = ["en", "es", "de", "fr", "pt"]

    /// Version of the file; its editors increment it.
    public var version: Int
    /// By ISO 3166-1 alpha-2 code, aliases included.
    var countries: [String: Country]
    var international: [Entry]
    /// By language.
    var texts: [String: Texts]

    /// Maximum number of resources on a card for a message. A person in a crisis does not read a longer list.
    static let maximumOnCard = 5

    /// The card for the risk of a message. Without a country the resources are international, never those of the
    /// United States. At tier 4 the emergency number is first.
    public func card(for risk: RiskAssessment, in region: Region) -> SafetyCard {
        let home = region.countryCode.flatMap { countries[$0] }
        let language = language(of: risk, region: region, home: home)
        let texts = texts[language] ?? Texts.empty
        let resources = choose(for: risk, region: region, home: home, language: language, texts: texts)
        let message = texts.message(risk.tier.messageKind, risk: risk)
        let lines = resources.map(texts.line)
        let fixed = texts.message(risk.tier == .imminent ? .fixedImminent : .fixed, risk: risk)
        return SafetyCard(
            severity: risk.tier >= .high ? .acute : .concern, tier: risk.tier, categories: risk.categories, resources: resources,
            message: message, opening: opening(for: risk, resources, texts),
            fixedAnswer: ([fixed] + lines).joined(separator: "\n"))
    }

    /// The opening of an answer. At tier 4 it includes the emergency number, which is the first resource.
    private func opening(for risk: RiskAssessment, _ resources: [CrisisResource], _ texts: Texts) -> String? {
        switch risk.tier {
        case .none, .concern, .crisis: nil
        case .high: texts.message(.opening, risk: risk)
        case .imminent: ([texts.message(.openingImminent, risk: risk)] + resources.prefix(1).map(texts.line)).joined(separator: "\n")
        }
    }

    /// A card with every resource of a country and the international ones: for `GET /api/v1/resources`, and for errors to users with a
    /// stored safety level.
    public func all(in region: Region) -> SafetyCard {
        let home = region.countryCode.flatMap { countries[$0] }
        let language = language(of: .calm, region: region, home: home)
        let texts = texts[language] ?? Texts.empty
        let entries = (home?.entries ?? []) + international
        let resources = [emergency(for: .calm, region: region, home: home, texts: texts)] + entries.map { $0.named(in: language) }
        let message = texts.message(.concern, risk: .calm)
        let lines = resources.map(texts.line)
        return SafetyCard(
            severity: .concern, tier: .crisis, categories: [], resources: resources, message: message, opening: nil,
            fixedAnswer: ([message] + lines).joined(separator: "\n"))
    }

    /// Days after which an entry is to be checked again.
    private static let verificationDays = 365

    /// A line for each entry that was last checked more than a year ago.
    public func outdated(on today: CalendarDay) -> [String] {
        let entries = countries.sorted { $0.key < $1.key }.flatMap(\.value.entries) + international
        var lines: [String] = []
        for entry in entries {
            guard let day = entry.verifiedOn, today.daysSinceEpoch - day.daysSinceEpoch > CrisisResources.verificationDays else { continue }
            let line = "\(entry.resource.name) was last verified on \(day)"
            // Countries share entries.
            if !lines.contains(line) { lines.append(line) }
        }
        return lines
    }

    /// Every phone number and text code of the file, as written.
    var phoneNumbers: [String] {
        let entries = countries.values.flatMap(\.entries) + international
        let emergency = countries.values.flatMap { [$0.emergencyNumber] + ($0.policeNumber.map { [$0] } ?? []) }
        return emergency + entries.flatMap { [$0.resource.phone, $0.resource.sms].compactMap(\.self) }
    }

    private func choose(
        for risk: RiskAssessment, region: Region, home: Country?, language: String, texts: Texts
    ) -> [CrisisResource] {
        let emergency = emergency(for: risk, region: region, home: home, texts: texts)
        let all = (home?.entries ?? []) + international
        // Without a helpline in the user's language, those in the country's own are listed: German in the United States gets 988.
        let spoken = all.contains { $0.language == language } ? language : home?.language ?? "en"
        let entries = all.filter { !$0.listedOnly && ($0.language ?? spoken) == spoken }
        let own = entries.filter { $0.language == spoken }
        let rest = entries.filter { $0.language != spoken }
        let categories = Set(risk.categories)
        let fitting = (own + rest).filter { !$0.categories.isDisjoint(with: categories) }
        // Categories are in order of tier, so the line for the highest tier is first.
        let special = risk.categories.flatMap { category in fitting.filter { $0.categories.contains(category) } }
        let general = (own + rest).filter(\.categories.isEmpty)
        let lifeline = general.filter { $0.resource.country != nil }
        let anywhere = general.filter { $0.resource.country == nil }
        let suicidal = !categories.isDisjoint(with: [.suicide, .selfHarm]) || categories.isEmpty
        var chosen = (suicidal ? lifeline + special : special + lifeline) + anywhere
        if risk.tier == .imminent { chosen.removeAll { $0.resource.country == nil && home != nil } }
        var resources: [CrisisResource] = []
        for resource in chosen.map({ $0.named(in: language) }) where !resources.contains(resource) { resources.append(resource) }
        switch risk.tier {
        case .imminent: return [emergency] + resources.prefix(CrisisResources.maximumOnCard - 1)
        case .high: return resources.prefix(CrisisResources.maximumOnCard - 1) + [emergency]
        case .none, .concern, .crisis:
            // Without a country, "your local emergency number" is the only other resource that is valid everywhere.
            return home == nil ? [emergency] + resources : Array(resources.prefix(CrisisResources.maximumOnCard))
        }
    }

    private func emergency(for risk: RiskAssessment, region: Region, home: Country?, texts: Texts) -> CrisisResource {
        let isViolence = risk.categories.first.map { $0 == .abuse || $0 == .violence } ?? false
        return CrisisResource(
            name: home == nil ? texts.localEmergencyName : texts.emergencyName,
            phone: (isViolence ? home?.policeNumber : nil) ?? home?.emergencyNumber, sms: nil, url: nil, hours: "24/7",
            country: home == nil ? nil : region.countryCode)
    }

    /// The language of a card's texts. The language of the grammar's patterns when all that matched are of one language, and not English; else the locale's
    /// language (English when the file has no texts in it); else the country's. The model's patterns have no language.
    private func language(of risk: RiskAssessment, region: Region, home: Country?) -> String {
        let patterns = risk.patterns.filter { !$0.hasPrefix(CrisisClassifier.patternPrefix) }
        let languages = Set(patterns.map { $0.prefix { $0 != "." } })
        if languages.count == 1, let language = languages.first, language != "en", texts[String(language)] != nil {
            return String(language)
        }
        if let language = region.language { return texts[language] == nil ? "en" : language }
        return home?.language ?? "en"
    }
}

extension RiskTier {
    fileprivate var messageKind: CrisisResources.MessageKind {
        switch self {
        case .none, .concern, .crisis: .concern
        case .high: .acute
        case .imminent: .imminent
        }
    }
}

extension CrisisResources.Entry {
    fileprivate func named(in language: String) -> CrisisResource {
        guard let name = names[language] else { return resource }
        var named = resource
        named.name = name
        return named
    }
}

extension CrisisResources.Texts {
    static let empty = CrisisResources.Texts(messages: [:], emergencyName: "", localEmergencyName: "", call: "", text: "")

    fileprivate func message(_ kind: CrisisResources.MessageKind, risk: RiskAssessment) -> String {
        let variants = messages[kind] ?? [:]
        let keys = (risk.subject == .other ? ["other"] : risk.categories.prefix(1).map(\.rawValue)) + ["default"]
        return keys.lazy.compactMap { variants[$0] }.first ?? ""
    }

    /// One line of text: "• Samaritans: call 116 123, https://…".
    fileprivate func line(_ resource: CrisisResource) -> String {
        let contacts = [resource.phone.map { "\(call) \($0)" }, resource.sms.map { "\(text) \($0)" }, resource.url].compactMap { $0 }
        return contacts.isEmpty ? "• \(resource.name)" : "• \(resource.name): \(contacts.joined(separator: ", "))"
    }
}
