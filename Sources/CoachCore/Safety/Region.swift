/// Where a user is and which language they use, as far as it is known. Selects crisis resources and the language of their texts.
public struct Region: Sendable, Hashable {
    /// As given. Counts when it is one of ISO 3166-1 alpha-2.
    public var country: String?
    /// As given: a BCP 47 tag, with `-` or `_`, or an `Accept-Language` header, of which only the first tag is read.
    public var locale: String?

    public static let unknown = Region()

    public init(country: String? = nil, locale: String? = nil) {
        self.country = country
        self.locale = locale
    }

    /// Country and language, each from the first source that has it: an app that sends "en" does not hide the profile's GB.
    public init(firstOf sources: [Region]) {
        country = sources.lazy.compactMap(\.countryCode).first
        locale = sources.lazy.first { $0.language != nil }?.locale
    }

    /// ISO 3166-1 alpha-2, upper case: `country` when it is valid, else the region of `locale`.
    public var countryCode: String? {
        country.flatMap(Self.code) ?? subtags.dropFirst().prefix { $0.count > 1 }.first { $0.count == 2 }.flatMap { Self.code(String($0)) }
    }

    private static func code(_ text: String) -> String? {
        let code = text.uppercased()
        return RegionCodes.countries.contains(code) ? code : nil
    }

    /// ISO 639-1, lower case: the language of `locale`.
    public var language: String? { subtags.first.map { $0.lowercased() }.flatMap { RegionCodes.languages.contains($0) ? $0 : nil } }

    private var subtags: [Substring] {
        let tag = locale?.split(whereSeparator: { $0 == "," || $0 == ";" }).first ?? ""
        return tag.split(whereSeparator: { $0 == "-" || $0 == "_" || $0 == " " })
    }
}
