/// Where a user is and which language they use, as far as it is known. Selects crisis resources and the language of their texts.
public struct Region: Sendable, Hashable {
    /// ISO 3166-1 alpha-2, upper case; GB for UK.
    public let country: String?
    /// As given: a BCP 47 tag, with `-` or `_`, an identifier of ICU (`en_US@rg=dezzzz`), or an `Accept-Language` header. Only its first tag is read, which
    /// has a language or a country.
    public let locale: String?

    public static let unknown = Region()

    /// Ignores a text that is no country or locale, so that it is not stored and does not hide the value of another source.
    public init(country: String? = nil, locale: String? = nil) {
        self.country = country.flatMap(Self.code)
        self.locale = locale.flatMap { Self.language(of: $0) != nil || Self.country(of: $0) != nil ? $0 : nil }
    }

    /// Country and language, each from the first source that has it: an app that sends "en" does not hide the profile's GB.
    public init(firstOf sources: [Region]) {
        country = sources.lazy.compactMap(\.countryCode).first
        locale = sources.lazy.first { $0.language != nil }?.locale
    }

    /// ISO 3166-1 alpha-2, upper case: `country`, else the region of `locale`.
    public var countryCode: String? { country ?? locale.flatMap(Self.country) }

    /// ISO 639-1, lower case: the language of `locale`.
    public var language: String? { locale.flatMap(Self.language) }

    private static func country(of locale: String) -> String? {
        let tags = subtags(of: locale)
        return regionOverride(in: tags) ?? regionOverride(in: keywords(of: locale))
            ?? tags.dropFirst().prefix { $0.count > 1 }.first { $0.count == 2 }.flatMap { code(String($0)) }
    }

    /// The region that a user has set apart from that of their language: `en-US-u-rg-dezzzz` is Germany (UTS 35, key `rg`).
    private static func regionOverride(in tags: [Substring]) -> String? {
        for (key, value) in zip(tags, tags.dropFirst()).map({ ($0.lowercased(), $1.lowercased()) }) where key == "rg" {
            return value.count == 6 && value.hasSuffix("zzzz") ? code(String(value.prefix(2))) : nil
        }
        return nil
    }

    private static func language(of locale: String) -> String? {
        guard let tag = subtags(of: locale).first, tag.utf8.count == tag.count else { return nil }
        return RegionCodes.languages.contains(tag.lowercased()) ? tag.lowercased() : nil
    }

    private static func code(_ text: String) -> String? {
        // "ß" is SS in upper case.
        guard text.utf8.count == text.count else { return nil }
        let code = text.uppercased()
        // ISO 3166-1 reserves it for GB.
        if code == "UK" { return "GB" }
        return RegionCodes.countries.contains(code) ? code : nil
    }

    private static func subtags(of locale: String) -> [Substring] {
        let tag = locale.split(whereSeparator: { ",;@".contains($0) }).first ?? ""
        return tag.split(whereSeparator: { "-_ ".contains($0) })
    }

    /// Keys and values behind the `@` of ICU's identifiers: `en_US@calendar=buddhist;rg=dezzzz`.
    private static func keywords(of locale: String) -> [Substring] {
        let first = locale.prefix { $0 != "," }
        guard let mark = first.firstIndex(of: "@") else { return [] }
        return first[mark...].dropFirst().split(whereSeparator: { ";= ".contains($0) })
    }
}
