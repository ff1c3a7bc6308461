/// The crisis resources of a region and the texts of one language, of which cards are made.
struct RegionalResources {
    private let region: Region
    /// nil without a country, and for one that the file does not have.
    private let home: CrisisResources.Country?
    /// The country's, then the international ones.
    private let entries: [CrisisResources.Entry]
    private let language: String
    private let texts: CrisisResources.Texts

    /// - Parameter risk: may decide the language.
    init(_ resources: CrisisResources, in region: Region, for risk: RiskAssessment) {
        self.region = region
        home = region.countryCode.flatMap { resources.countries[$0] }
        entries = (home?.entries ?? []) + resources.international
        language = Self.language(of: risk, region: region, home: home, texts: resources.texts)
        texts = resources.texts[language] ?? .empty
    }

    /// As `CrisisResources.card`.
    func card(for risk: RiskAssessment) -> SafetyCard {
        if risk.isReminder { return reminder(choose(for: .calm)) }
        let resources = choose(for: risk)
        let fixed = texts.message(risk.tier == .imminent ? .fixedImminent : .fixed, risk: risk)
        return SafetyCard(
            severity: risk.tier >= .high ? .acute : .concern, tier: risk.tier, categories: risk.categories, resources: resources,
            message: texts.message(risk.tier.messageKind, risk: risk), opening: opening(for: risk, resources),
            fixedAnswer: ([fixed] + resources.map(texts.line)).joined(separator: "\n"))
    }

    /// The opening of an answer. At tier 4 it includes the emergency number, which is the first resource.
    private func opening(for risk: RiskAssessment, _ resources: [CrisisResource]) -> String? {
        switch risk.tier {
        case .none, .concern, .crisis: nil
        case .high: texts.message(.opening, risk: risk)
        case .imminent: ([texts.message(.openingImminent, risk: risk)] + resources.prefix(1).map(texts.line)).joined(separator: "\n")
        }
    }

    /// As `CrisisResources.all`.
    var all: SafetyCard {
        reminder([emergencyResource, policeResource].compactMap(\.self) + entries.map(localised))
    }

    /// A card that does not answer a message: at a stored level, it says why it is shown.
    private func reminder(_ resources: [CrisisResource]) -> SafetyCard {
        let message = texts.message(.reminder, risk: .calm)
        return SafetyCard(
            severity: .concern, tier: .crisis, categories: [], resources: resources, message: message, opening: nil,
            fixedAnswer: ([message] + resources.map(texts.line)).joined(separator: "\n"))
    }

    /// The resources of a card for the risk of a message.
    private func choose(for risk: RiskAssessment) -> [CrisisResource] {
        let emergency = emergency(for: risk)
        // Without a helpline in the user's language, those in the country's own are listed: German in the United States gets 988.
        let spoken = entries.contains { $0.language == language } ? language : home?.language ?? "en"
        let understood = entries.filter { !$0.listedOnly && ($0.language ?? spoken) == spoken }
        let own = understood.filter { $0.language == spoken }
        let rest = understood.filter { $0.language != spoken }
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
        for resource in chosen.map(localised) where !resources.contains(resource) { resources.append(resource) }
        switch risk.tier {
        case .imminent: return [emergency] + resources.prefix(CrisisResources.maximumOnCard - 1)
        case .high: return resources.prefix(CrisisResources.maximumOnCard - 1) + [emergency]
        case .none, .concern, .crisis:
            // Without a country, "your local emergency number" is the only other resource that is valid everywhere.
            return home == nil ? [emergency] + resources : Array(resources.prefix(CrisisResources.maximumOnCard))
        }
    }

    private func emergency(for risk: RiskAssessment) -> CrisisResource {
        let isViolence = risk.categories.first.map { $0 == .abuse || $0 == .violence } ?? false
        return (isViolence ? policeResource : nil) ?? emergencyResource
    }

    private var emergencyResource: CrisisResource {
        emergency(name: home == nil ? texts.localEmergencyName : texts.emergencyName, phone: home?.emergencyNumber)
    }

    /// nil where the police has the emergency number.
    private var policeResource: CrisisResource? {
        home?.policeNumber.map { emergency(name: texts.policeName, phone: $0) }
    }

    private func emergency(name: String, phone: String?) -> CrisisResource {
        CrisisResource(name: name, phone: phone, sms: nil, url: nil, hours: "24/7", country: home == nil ? nil : region.countryCode)
    }

    /// The resource as a card in the language has it.
    private func localised(_ entry: CrisisResources.Entry) -> CrisisResource {
        var resource = entry.resource
        resource.name = entry.names[language] ?? resource.name
        resource.sms = resource.sms?.replacing(" to ", with: " \(texts.to) ")
        return resource
    }

    /// The language of a card's texts. The language of the grammar's patterns when all that matched are of one language, and not English; else the locale's
    /// language (English when the file has no texts in it); else the country's. Patterns of the models, the judge and the state have no language.
    private static func language(
        of risk: RiskAssessment, region: Region, home: CrisisResources.Country?, texts: [String: CrisisResources.Texts]
    ) -> String {
        let languages = Set(risk.patterns.map { String($0.prefix { $0 != "." }) }).intersection(RegionCodes.languages)
        if languages.count == 1, let language = languages.first, language != "en", texts[language] != nil { return language }
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

extension CrisisResources.Texts {
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
