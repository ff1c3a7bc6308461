import JSON

extension CrisisResources {
    /// Parses and validates the file. The error has all findings.
    public init(json: [UInt8], file: String = "resources.json") throws(ConfigurationRejected) {
        self = try ConfigurationRejected.read(json, file: file, CrisisResources.init)
    }

    private init(_ root: JSONReader) throws(JSONFinding) {
        version = try root.required("version", .integer(1...1_000_000))
        countries = try CrisisResources.readAliases(root, try CrisisResources.readCountries(root))
        international = try CrisisResources.entries(root, "international", 1...10, country: nil)
        texts = try CrisisResources.readTexts(root)
        try root.rejectUnknown(besides: ["about"])
    }

    private static func readCountries(_ root: JSONReader) throws(JSONFinding) -> [String: Country] {
        var countries: [String: Country] = [:]
        let object = try root.object("countries")
        for code in object.names {
            if code.count != 2 || code != code.uppercased() {
                try object.report(code, .invalid("must be an ISO 3166-1 alpha-2 code in upper case"))
            }
            let country = try object.object(code)
            countries[code] = Country(
                emergencyNumber: try country.required("emergency", .text(2...20)),
                policeNumber: try country.optional("police", .text(2...20)),
                language: try country.required("language", .text(2...2)),
                entries: try entries(country, "resources", 1...40, country: code))
            try country.rejectUnknown()
        }
        return countries
    }

    /// Adds the codes of `same_as`, which share another country's resources: Guam those of the United States.
    private static func readAliases(_ root: JSONReader, _ countries: [String: Country]) throws(JSONFinding) -> [String: Country] {
        guard root.contains("same_as") else { return countries }
        var all = countries
        let aliases = try root.object("same_as")
        for code in aliases.names {
            let other = try aliases.required(code, .text(2...2))
            if let country = countries[other] {
                all[code] = country
            } else {
                try aliases.report(code, .invalid("must be one of the countries"))
            }
        }
        return all
    }

    private static func entries(
        _ json: JSONReader, _ name: String, _ count: ClosedRange<Int>, country: String?
    ) throws(JSONFinding) -> [Entry] {
        try json.elements(name, count).map { (element) throws(JSONFinding) in try entry(element, country: country) }
    }

    private static func entry(_ json: JSONReader, country: String?) throws(JSONFinding) -> Entry {
        let resource = CrisisResource(
            name: try json.required("name", .text(2...120)), phone: try json.optional("phone", .text(2...40)),
            sms: try json.optional("sms", .text(3...60)), url: try json.optional("url", .text(10...200)),
            hours: try json.optional("hours", .text(2...60)), country: country)
        if resource.phone == nil, resource.sms == nil, resource.url == nil { try json.report("phone", .missing) }
        if let url = resource.url, !url.hasPrefix("https://") { try json.report("url", .invalid("must start with https://")) }
        var names: [String: String] = [:]
        for language in languages { names[language] = try json.optional("name_\(language)", .text(2...120)) }
        let entry = Entry(
            resource: resource, names: names,
            language: try json.optional("language", .text(2...2)), categories: Set(try json.optional("categories") ?? []),
            listedOnly: try json.optional("listed_only") ?? false, verifiedOn: try json.optional("verified_on"))
        try json.rejectUnknown(besides: ["verified_with"])
        return entry
    }

    private static func readTexts(_ root: JSONReader) throws(JSONFinding) -> [String: Texts] {
        let object = try root.object("texts")
        var texts: [String: Texts] = [:]
        for language in languages {
            let json = try object.object(language)
            texts[language] = Texts(
                messages: try messages(json), emergencyName: try json.required("emergency_name", .text(2...80)),
                policeName: try json.required("police_name", .text(2...80)),
                localEmergencyName: try json.required("local_emergency_name", .text(2...120)),
                call: try json.required("call", .text(2...20)), text: try json.required("text", .text(2...20)),
                to: try json.required("to", .text(1...10)))
            try json.rejectUnknown()
        }
        try object.rejectUnknown()
        return texts
    }

    private static func messages(_ json: JSONReader) throws(JSONFinding) -> [MessageKind: [String: String]] {
        let object = try json.object("messages")
        var messages: [MessageKind: [String: String]] = [:]
        for kind in MessageKind.allCases {
            let variants = try object.object(kind.rawValue)
            for name in kind.requiredVariants { messages[kind, default: [:]][name] = try variants.required(name, .text(20...900)) }
            for name in kind.optionalVariants { messages[kind]?[name] = try variants.optional(name, .text(20...900)) }
            try variants.rejectUnknown()
        }
        try object.rejectUnknown()
        return messages
    }
}
