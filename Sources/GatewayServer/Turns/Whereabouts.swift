import CoachCore

/// Where somebody is, for crisis resources: what the request says, else the profile, else the `Accept-Language` header (CONTRACT §4). A
/// source that says anything is taken whole: a profile's country never meets another source's language.
struct Whereabouts: Sendable, Equatable {
    /// ISO 3166-1 alpha-2.
    var country: String?
    /// BCP 47.
    var locale: String?

    init(country: String?, locale: String?) {
        self.country = country
        self.locale = locale
    }

    init(_ request: TurnRequest, profile: Whereabouts? = nil, acceptLanguage: String?) {
        let asked = Whereabouts(country: request.country, locale: request.locale)
        let header = Whereabouts(country: nil, locale: AcceptLanguage.first(acceptLanguage))
        self = [asked, profile].lazy.compactMap { $0 }.first { $0.country != nil || $0.locale != nil } ?? header
    }
}
