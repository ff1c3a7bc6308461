import Foundation

extension CrisisResources {
    /// Parses and validates the file. The error has all findings.
    public init(json: Data, file: String = "resources.json") throws(ConfigurationRejected) {
        let collector = FindingCollector()
        guard let root = ConfigurationNode.root(of: json, file: file, collector: collector) else {
            throw ConfigurationRejected(findings: collector.findings)
        }
        root.allow(["version", "about", "countries", "same_as", "international", "texts"])
        version = root.integer("version", 1...1_000_000)
        var countries: [String: Country] = [:]
        if let object = root.object("countries") {
            for code in object.keys {
                if code.count != 2 || code != code.uppercased() { object.report(code, .outOfBounds("ISO 3166-1 alpha-2, upper case")) }
                guard let node = object.object(code) else { continue }
                node.allow(["emergency", "language", "resources"])
                countries[code] = Country(
                    emergencyNumber: node.text("emergency", 2...20), language: node.text("language", 2...2),
                    entries: node.list("resources", 1...40).map { CrisisResources.entry($0, country: code) })
            }
        }
        self.countries = CrisisResources.readAliases(root, countries)
        international = root.list("international", 1...10).map { CrisisResources.entry($0, country: nil) }
        texts = CrisisResources.readTexts(root)
        try collector.rejectIfAny()
    }

    /// Adds the codes of `same_as`, which share another country's resources: Puerto Rico those of the United States, the non-standard
    /// code "UK" those of GB.
    private static func readAliases(_ root: ConfigurationNode, _ countries: [String: Country]) -> [String: Country] {
        guard root.member("same_as") != nil, let object = root.object("same_as") else { return countries }
        var all = countries
        for code in object.keys {
            let other = object.text(code, 2...2)
            if let country = countries[other] { all[code] = country } else { object.report(code, .unknownReference(other)) }
        }
        return all
    }

    private static func entry(_ node: ConfigurationNode, country: String?) -> Entry {
        node.allow([
            "name", "name_es", "phone", "sms", "url", "hours", "categories", "language", "listed_only", "verified_on", "verified_with",
        ])
        let resource = CrisisResource(
            name: node.text("name", 2...120), phone: node.optionalText("phone", 2...40), sms: node.optionalText("sms", 3...60),
            url: node.optionalText("url", 10...200), hours: node.optionalText("hours", 2...60), country: country)
        if resource.phone == nil, resource.sms == nil, resource.url == nil { node.report("phone", .missing) }
        if let url = resource.url, !url.hasPrefix("https://") { node.report("url", .outOfBounds("starts with https://")) }
        let categories = node.member("categories")?.elements.compactMap { item -> RiskCategory? in
            guard let text = item.text(1...40) else { return nil }
            guard let category = RiskCategory(rawValue: text) else {
                item.report(.unknownReference(text))
                return nil
            }
            return category
        }
        return Entry(
            resource: resource, spanishName: node.optionalText("name_es", 2...120), language: node.optionalText("language", 2...2),
            categories: Set(categories ?? []), listedOnly: node.flag("listed_only"))
    }

    private static func readTexts(_ root: ConfigurationNode) -> [String: Texts] {
        guard let object = root.object("texts") else { return [:] }
        object.allow(Set(languages))
        var texts: [String: Texts] = [:]
        for language in languages {
            guard let node = object.object(language) else { continue }
            node.allow(["messages", "emergency_name", "local_emergency_name", "call", "text"])
            texts[language] = Texts(
                messages: messages(node), emergencyName: node.text("emergency_name", 2...80),
                localEmergencyName: node.text("local_emergency_name", 2...120), call: node.text("call", 2...20),
                text: node.text("text", 2...20))
        }
        return texts
    }

    private static func messages(_ node: ConfigurationNode) -> [MessageKind: [String: String]] {
        guard let object = node.object("messages") else { return [:] }
        object.allow(Set(MessageKind.allCases.map(\.rawValue)))
        let keys = RiskCategory.allCases.map(\.rawValue) + ["default", "other"]
        var messages: [MessageKind: [String: String]] = [:]
        for kind in MessageKind.allCases {
            guard let variants = object.object(kind.rawValue) else { continue }
            variants.allow(Set(keys))
            for required in ["default", "other"] where variants.member(required) == nil { variants.report(required, .missing) }
            for key in variants.keys where keys.contains(key) { messages[kind, default: [:]][key] = variants.text(key, 20...900) }
        }
        return messages
    }
}
