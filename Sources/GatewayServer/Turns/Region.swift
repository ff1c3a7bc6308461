import CoachCore

/// Where somebody is, for crisis resources: what the request says, else the profile, else the `Accept-Language` header (CONTRACT §4).
/// Country and language are each taken from the first that tells them: an app that says "en" does not hide that the profile says GB.
struct Region: Sendable, Equatable {
    /// ISO 3166-1 alpha-2.
    var country: String?
    /// BCP 47.
    var locale: String?

    init(country: String?, locale: String?) {
        self.country = country
        self.locale = locale
    }

    init(_ request: TurnRequest, profile: Region? = nil, acceptLanguage: String?) {
        let asked = Region(country: request.country, locale: request.locale)
        let header = Region(country: nil, locale: AcceptLanguage.first(acceptLanguage))
        let sources = [asked, profile, header].compactMap { $0 }
        country = sources.lazy.compactMap { UserLocale(country: $0.country, locale: $0.locale).country }.first
        locale = sources.lazy.filter { UserLocale(country: nil, locale: $0.locale).language != nil }.first?.locale
    }
}
