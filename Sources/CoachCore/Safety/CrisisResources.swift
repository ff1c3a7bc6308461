/// One place that helps: an element of `resources` in a `safety` event (CONTRACT §4).
public struct CrisisResource: Sendable, Hashable {
    public var name: String
    /// What to dial.
    public var phone: String?
    /// What to text, as an instruction: "HOME to 741741".
    public var sms: String?
    public var url: String?
    public var hours: String?
    /// ISO 3166-1 alpha-2; nil for international ones.
    public var country: String?

    /// Memberwise.
    public init(name: String, phone: String?, sms: String?, url: String?, hours: String?, country: String?) {
        self.name = name
        self.phone = phone
        self.sms = sms
        self.url = url
        self.hours = hours
        self.country = country
    }
}

/// What a person in danger is shown: a warm text and where to turn.
public struct SafetyCard: Sendable, Equatable {
    /// How the client shows it (CONTRACT §4): tier 2 is concern, tiers 3 and 4 are acute.
    public enum Severity: String, Sendable {
        case concern, acute
    }
    public var severity: Severity
    public var tier: RiskTier
    public var categories: [RiskCategory]
    /// Never empty.
    public var resources: [CrisisResource]
    /// Why the card is shown, warmly; holds no number.
    public var message: String
    /// `message` and the resources as one text, for clients that know no cards.
    public var plainText: String
    /// The whole answer when no model could give one (CONTRACT §4): at tiers 3 and 4 it is served alone.
    public var fixedAnswer: String
}

/// The crisis resources of `domains/safety/resources.json`, by place, category and language.
public struct CrisisResources: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        var resource: CrisisResource
        /// Name in Spanish, when it differs.
        var spanishName: String?
        /// Language it serves, when it is not the country's own: Spanish lines in the United States.
        var language: String?
        /// Empty: for everything.
        var categories: Set<RiskCategory>
        /// Shown in the full list only.
        var listedOnly: Bool
    }

    struct Country: Sendable, Equatable {
        var emergencyNumber: String
        var language: String
        var entries: [Entry]
    }

    struct Texts: Sendable, Equatable {
        /// By band ("concern", "acute", "imminent", "fixed", "fixed_imminent"), then by category or "default" or "other".
        var messages: [String: [String: String]]
        var emergencyName: String
        var localEmergencyName: String
        var call: String
        var text: String
    }

    public var version: Int
    var countries: [String: Country]
    var international: [Entry]
    var texts: [String: Texts]

    /// Most resources on one card: a list that is longer is not read in a crisis.
    static let mostOnCard = 5

    /// The card for what a message says. The place is the country, else the region of the locale, else international: numbers of the
    /// United States are never given to somebody whose place is unknown. At tier 4 the emergency number is first.
    ///
    /// `locale` may be a BCP 47 tag or a whole `Accept-Language`.
    public func card(for risk: RiskAssessment, country: String?, locale: String?) -> SafetyCard {
        let place = Place(country: country, locale: locale)
        let home = place.country.flatMap { countries[$0] }
        let language = language(of: risk, place: place, home: home)
        let texts = texts[language] ?? Texts.empty
        let resources = choose(for: risk, place: place, home: home, language: language, texts: texts)
        let message = texts.message(band: risk.tier.band, risk: risk)
        let lines = resources.map(texts.line)
        let fixed = texts.message(band: risk.tier == .imminent ? "fixed_imminent" : "fixed", risk: risk)
        return SafetyCard(
            severity: risk.tier >= .high ? .acute : .concern, tier: risk.tier, categories: risk.categories, resources: resources,
            message: message, plainText: ([message] + lines).joined(separator: "\n"),
            fixedAnswer: ([fixed] + lines).joined(separator: "\n"))
    }

    /// Everything there is for a place, for people who look for it themselves (`GET /api/v1/resources`), and for refusals to users whose
    /// stored safety state asks for it.
    public func all(country: String?, locale: String?) -> SafetyCard {
        let place = Place(country: country, locale: locale)
        let home = place.country.flatMap { countries[$0] }
        let language = language(of: .calm, place: place, home: home)
        let texts = texts[language] ?? Texts.empty
        let entries = (home?.entries ?? []) + international
        let resources = [emergency(place: place, home: home, texts: texts)] + entries.map { $0.named(in: language) }
        let message = texts.message(band: "concern", risk: .calm)
        let lines = resources.map(texts.line)
        return SafetyCard(
            severity: .concern, tier: .none, categories: [], resources: resources, message: message,
            plainText: ([message] + lines).joined(separator: "\n"), fixedAnswer: ([message] + lines).joined(separator: "\n"))
    }

    private func choose(
        for risk: RiskAssessment, place: Place, home: Country?, language: String, texts: Texts
    ) -> [CrisisResource] {
        let emergency = emergency(place: place, home: home, texts: texts)
        let entries = ((home?.entries ?? []) + international).filter { !$0.listedOnly && ($0.language ?? language) == language }
        let own = entries.filter { $0.language == language }
        let rest = entries.filter { $0.language != language }
        let categories = Set(risk.categories)
        let fitting = (own + rest).filter { !$0.categories.isDisjoint(with: categories) }
        // The category found first is the gravest: its line stands before those of the others.
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
        case .imminent: return [emergency] + resources.prefix(CrisisResources.mostOnCard - 1)
        case .high: return resources.prefix(CrisisResources.mostOnCard - 1) + [emergency]
        case .none, .concern, .crisis:
            // Without a country the emergency number is the only other thing that is true everywhere.
            return home == nil ? [emergency] + resources : Array(resources.prefix(CrisisResources.mostOnCard))
        }
    }

    private func emergency(place: Place, home: Country?, texts: Texts) -> CrisisResource {
        CrisisResource(
            name: home == nil ? texts.localEmergencyName : texts.emergencyName, phone: home?.emergencyNumber, sms: nil, url: nil,
            hours: "24/7", country: home == nil ? nil : place.country)
    }

    /// The language the person wrote in when the patterns tell, else the locale's, else the country's.
    private func language(of risk: RiskAssessment, place: Place, home: Country?) -> String {
        if !risk.patterns.isEmpty, risk.patterns.allSatisfy({ $0.hasPrefix("es.") }), texts["es"] != nil { return "es" }
        if let language = place.language { return texts[language] == nil ? "en" : language }
        return home?.language ?? "en"
    }
}

extension RiskTier {
    fileprivate var band: String {
        switch self {
        case .none, .concern, .crisis: "concern"
        case .high: "acute"
        case .imminent: "imminent"
        }
    }
}

extension CrisisResources.Entry {
    fileprivate func named(in language: String) -> CrisisResource {
        guard language == "es", let spanishName else { return resource }
        var named = resource
        named.name = spanishName
        return named
    }
}

extension CrisisResources.Texts {
    static let empty = CrisisResources.Texts(messages: [:], emergencyName: "", localEmergencyName: "", call: "", text: "")

    fileprivate func message(band: String, risk: RiskAssessment) -> String {
        let variants = messages[band] ?? [:]
        let keys = (risk.subject == .other ? ["other"] : risk.categories.prefix(1).map(\.rawValue)) + ["default"]
        return keys.lazy.compactMap { variants[$0] }.first ?? ""
    }

    /// "Samaritans: call 116 123, https://…".
    fileprivate func line(_ resource: CrisisResource) -> String {
        let ways = [resource.phone.map { "\(call) \($0)" }, resource.sms.map { "\(text) \($0)" }, resource.url].compactMap { $0 }
        return ways.isEmpty ? "• \(resource.name)" : "• \(resource.name): \(ways.joined(separator: ", "))"
    }
}

/// Where somebody is and what he reads, as far as it is known.
public struct Place: Sendable, Equatable {
    /// ISO 3166-1 alpha-2, upper case.
    public var country: String?
    /// ISO 639-1, lower case.
    public var language: String?

    /// `locale` is a BCP 47 tag, with `-` or `_`, or an `Accept-Language` of which the first tag counts.
    public init(country: String?, locale: String?) {
        let tag = locale?.split(whereSeparator: { $0 == "," || $0 == ";" }).first ?? ""
        let parts = tag.split(whereSeparator: { $0 == "-" || $0 == "_" || $0 == " " })
        language = parts.first.flatMap { $0.count == 2 ? $0.lowercased() : nil }
        let region = parts.dropFirst().prefix { $0.count > 1 }.first { $0.count == 2 }.map { $0.uppercased() }
        let code = country?.uppercased() ?? ""
        let isCode = code.utf8.count == 2 && code.utf8.allSatisfy { (0x41...0x5A).contains($0) }
        self.country = isCode ? code : region
    }
}
