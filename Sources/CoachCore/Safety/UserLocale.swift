/// A user's country and language, parsed from a country code and a locale tag. nil where these give none.
public struct UserLocale: Sendable, Equatable {
    /// ISO 3166-1 alpha-2, upper case.
    public var country: String?
    /// ISO 639-1, lower case.
    public var language: String?

    /// A valid country code wins over the region of the locale. `locale` is a BCP 47 tag, with `-` or `_`, or an `Accept-Language` header,
    /// of which only the first tag is read. Invalid parts are ignored.
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
